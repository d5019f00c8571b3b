python3 $PATCH a.cubin vrc.cubin byte:.nv.info.f1+16=0x34a02 byte:.nv.info.f2+16=0x74a02 byte:.nv.info.f3+16=0x54a02
python3 $PATCH a.cubin vrcown.cubin byte:.nv.info.f1+16=0x34a02 byte:.nv.info.k1+16=0x24a02 byte:.nv.info.f3+16=0x54a02
python3 $PATCH a.cubin mbar.cubin byte:.nv.info.f1+16=0x23803 byte:.nv.info.f2+16=0x33803 byte:.nv.info.f3+16=0x43803 byte:.nv.info.k1+16=0x13803
python3 $PATCH a.cubin mbartwice.cubin byte:.nv.info.f1+16=0x23803 byte:.nv.info.f1+8=0x53803 byte:.nv.info.f3+16=0xffff3803
python3 $PATCH a.cubin reconfig.cubin byte:.nv.info.f1+16=0x55401 byte:.nv.info.f2+16=0x65401 byte:.nv.info.f3+16=0x75401
python3 $PATCH a.cubin reconfigtwice.cubin byte:.nv.info.f1+8=0x95401 byte:.nv.info.f1+16=0x55401 byte:.nv.info.f3+16=0x15401
python3 $PATCH a.cubin mask.cubin byte:.nv.info.f1+8=0x15003 byte:.nv.info.f2+8=0x35003 byte:.nv.info.f3+8=0x45003 byte:.nv.info.k1+8=0x95003
python3 $PATCH a.cubin nomask.cubin byte:.nv.info.f1+8=0x1015f03 byte:.nv.info.k1+8=0x95003
python3 $PATCH a.cubin nomaskf3.cubin byte:.nv.info.f3+8=0x1015f03
python3 $PATCH a.cubin nomaskk3.cubin 
python3 $PATCH a.cubin onecta.cubin byte:.nv.info.f1+16=0x5101
python3 $PATCH a.cubin twocta.cubin byte:.nv.info.f1+16=0x5101 byte:.nv.info.f3+16=0x5201
python3 $PATCH a.cubin bothcta.cubin byte:.nv.info.f2+16=0x5101 byte:.nv.info.f3+16=0x5201
python3 $PATCH a.cubin ctaidz.cubin byte:.nv.info.f3+16=0x401 byte:.nv.info.f1+16=0x4101
python3 $PATCH a.cubin fragments.cubin byte:.nv.info.f1+20=0x44f04 byte:.nv.info.f2+20=0x44f04 byte:.nv.info.f2+24=0x77 byte:.nv.info.f3+20=0x44f04 byte:.nv.info.f3+24=0x99
python3 $PATCH a.cubin fragmentsown.cubin byte:.nv.info.f1+0=0x44f04 byte:.nv.info.f3+20=0x44f04 byte:.nv.info.k1+0=0x44f04 byte:.nv.info.k1+4=0x55
python3 $PATCH a.cubin mixed.cubin byte:.nv.info.f3+16=0x23803 byte:.nv.info.f2+16=0x65401 byte:.nv.info.f1+16=0x74a02 byte:.nv.info.f3+20=0x44f04 byte:.nv.info.f1+8=0x5101
