python3 $PATCH a.cubin flag1.cubin sec:.text.f1:flags=0x500006 byte:.nv.info.f1+12=0x1015f03
python3 $PATCH a.cubin flag2.cubin sec:.text.f1:flags=0x500006 sec:.text.f2:flags=0x900006 byte:.nv.info.f1+12=0x1015f03 byte:.nv.info.f2+12=0x1015f03
python3 $PATCH a.cubin flagk.cubin sec:.text.k1:flags=0x700006 sec:.text.f3:flags=0xa00006 byte:.nv.info.f1+12=0x1015f03 byte:.nv.info.f3+12=0x1015f03
python3 $PATCH a.cubin flagown.cubin sec:.text.k2:flags=0x200006 byte:.nv.info.k2+16=0x64c02 sec:.text.f1:flags=0x900006
python3 $PATCH a.cubin flagzero.cubin sec:.text.f3:flags=0x100006 byte:.nv.info.k4+16=0x4c02 byte:.nv.info.f3+12=0x1015f03
