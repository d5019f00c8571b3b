for v in 1 2 3 6; do python3 $PATCH a.cubin t$v.cubin byte:.nv.compat+8=0x${v}0502; done
python3 $PATCH a.cubin newer.cubin body:.nv.compat=0209000002020100030702010203000002060100040b08000900000000000000
