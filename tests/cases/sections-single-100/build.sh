N=040000000400000001000000666f6f0061626364
python3 $PATCH f.cubin foo.cubin add:.foo:1:2:4:0=31323334
python3 $PATCH f.cubin two.cubin add:.foo:1:2:4:0=414243444546 add:.foo:1:3:8:0=51525354
python3 $PATCH f.cubin three.cubin add:.nv.merc.foo:1:0x10000002:4:0=31323334 add:.nv.merc.foo:1:0x10000002:4:0=41424344 add:.foo:1:2:4:0=51525354
python3 $PATCH f.cubin note.cubin add:.note.foo:7:0:1:0=$N
python3 $PATCH f.cubin notes.cubin add:.note.foo:7:0:1:0=$N add:.nv.merc.note.foo:7:0x10000002:4:0=$N add:.nv.merc.note.foo:7:0x10000002:1:0=$N
python3 $PATCH k.cubin bank.cubin add:.nv.constant18:1:2:1:0=3132333435363738
python3 $PATCH k.cubin banks.cubin add:.nv.constant18:1:2:1:0=3132333435363738 add:.nv.merc.nv.constant18:1:0x10000002:1:0=61626364
