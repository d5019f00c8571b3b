python3 $PATCH a.cubin foo.cubin add:.nv.merc.foo:1:0x10000000:4:0=31323334
python3 $PATCH a.cubin note.cubin add:.nv.merc.note.foo:7:0x10000000:4:0=040000000400000001000000666f6f0061626364
python3 $PATCH a.cubin nobits.cubin add:.nv.merc.foo:8:0x10000000:4:0=31323334 add:.foo2:8:0:4:0=31323334
python3 $PATCH a.cubin bank.cubin add:.nv.merc.nv.constant18:1:0x10000002:4:0=31323334
python3 $PATCH a.cubin ids.cubin add:.nv.merc.nv.metadata:0x70000004:0x10000000:4:0=000000000000000000000000
python3 $PATCH a.cubin both.cubin add:.nv.merc.foo:1:0x10000002:1:0=31323334 add:.foo:1:3:1:0=6162636465666768
