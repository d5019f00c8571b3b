python3 $PATCH b.cubin old.cubin sec:.nv.constant2.w:flags=2 sec:.nv.merc.nv.constant.optimizer.w:flags=0x10000002
