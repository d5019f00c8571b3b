# On another architecture nothing is made: the numbers below are for this one.
[ sm_80 = "sm_"80 ] || exit 0
python3 $PATCH a.cubin pa.cubin sec:.nv.info.w:flags=0 sec:.nv.info.k:flags=0 sec:.rela.text.k:flags=0 sec:.rel.text.k:flags=0 sec:.rel.debug_frame:flags=0 sec:.rela.debug_frame:flags=0 sec:.nv.constant0.k:flags=2 sec:.nv.shared.k:flags=3
python3 $PATCH b.cubin pb.cubin sec:.nv.info.k2:flags=0 sec:.nv.info.g:flags=0 sec:.rel.debug_frame:flags=0 sec:.rela.debug_frame:flags=0 sec:.nv.constant0.k2:flags=2
python3 $PATCH b.cubin module.cubin sec:.nv.info:info=15
