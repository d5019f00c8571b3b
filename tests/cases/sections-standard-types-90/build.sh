python3 $PATCH a.cubin one0.cubin sec:.nv.global:type=8
python3 $PATCH a.cubin one1.cubin sec:.nv.global.init:type=1
python3 $PATCH a.cubin one2.cubin sec:.nv.shared.k:type=8
python3 $PATCH a.cubin one3.cubin sec:.nv_debug.shared:type=8
python3 $PATCH a.cubin one4.cubin sec:.nv.constant3:type=1
python3 $PATCH a.cubin one5.cubin sec:.nv.constant0.k:type=1
python3 $PATCH a.cubin one6.cubin sec:.nv.constant3:type=0x70000006
python3 $PATCH a.cubin one7.cubin sec:.nv.constant0.k:type=0x70000006
python3 $PATCH a.cubin all.cubin sec:.nv.global:type=8 sec:.nv.global.init:type=1 sec:.nv.shared.k:type=8 sec:.nv_debug.shared:type=8 sec:.nv.constant3:type=1 sec:.nv.constant0.k:type=1
