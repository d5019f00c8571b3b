python3 $PATCH b.cubin old.cubin sec:.nv.constant2.w:flags=2 sec:.nv.merc.nv.constant.optimizer.w:flags=0x10000002
python3 $PATCH b.cubin sass.cubin sec:.nv.constant2.w:flags=2
python3 $PATCH b.cubin twin.cubin sec:.nv.merc.nv.constant.optimizer.w:flags=0x10000002
