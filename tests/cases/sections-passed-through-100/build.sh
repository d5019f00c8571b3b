python3 $PATCH a.cubin a.foo.cubin rename:.nv_debug_ptx_txt=.foo
python3 $PATCH b.cubin b.foo.cubin rename:.nv_debug_ptx_txt=.foo
python3 $PATCH a.cubin a.desc.cubin rename:.nv_debug_ptx_txt=.nv.unified.texrefDescSize
python3 $PATCH b.cubin b.desc.cubin rename:.nv_debug_ptx_txt=.nv.unified.texrefDescSize
python3 $PATCH a.cubin a.dwarf5.cubin rename:.nv_debug_ptx_txt=.debug_line_str
python3 $PATCH b.cubin b.dwarf5.cubin rename:.nv_debug_ptx_txt=.debug_line_str
python3 $PATCH a.foo.cubin a.alloc.cubin sec:.foo:flags=2 sec:.nv.merc.foo:flags=0x10000002 sec:.foo:align=4 sec:.nv.merc.foo:align=4 sec:.foo:entsize=4 sec:.nv.merc.foo:entsize=4
python3 $PATCH a.foo.cubin a.note.cubin sec:.foo:type=7 sec:.nv.merc.foo:type=7
python3 $PATCH b.foo.cubin b.alloc.cubin sec:.foo:flags=2 sec:.nv.merc.foo:flags=0x10000002 sec:.foo:align=4 sec:.nv.merc.foo:align=4 sec:.foo:entsize=4 sec:.nv.merc.foo:entsize=4
python3 $PATCH b.foo.cubin b.note.cubin sec:.foo:type=7 sec:.nv.merc.foo:type=7
