# On another architecture nothing is made: the numbers below are for this one.
[ sm_80 = "sm_"80 ] || exit 0
OLD="ehdr.osabi=0x33 ehdr.abiversion=7"
for v in 0 99 100 118 131; do python3 $PATCH b.cubin v$v.cubin $OLD ehdr.e_version=$v ehdr.e_flags=0x500550; done
python3 $PATCH b.cubin format1.cubin byte:.note.nv.cuinfo+24=0x500001
python3 $PATCH b.cubin noteless.cubin ehdr.e_flags=0x5004
python3 $PATCH b.cubin renamed.cubin sec:.note.nv.cuinfo:name=1
sed s/sm_80/sm_90/ b.ptx > b90.txt
ptxas -arch=sm_90 -c b90.txt -o b90.cubin
for v in 119 120; do python3 $PATCH b90.cubin h$v.cubin $OLD ehdr.e_version=$v ehdr.e_flags=0x5a055a; done
python3 $PATCH b90.cubin hnoteless.cubin ehdr.e_flags=0x5a04
python3 $PATCH b90.cubin hrenamed.cubin sec:.note.nv.cuinfo:name=1
