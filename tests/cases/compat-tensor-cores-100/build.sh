for v in 1 2 3 6; do python3 $PATCH a.cubin t$v.cubin byte:.nv.compat+8=0x${v}0502; done
python3 $PATCH a.cubin newer.cubin byte:.nv.compat+12=0x1020703
