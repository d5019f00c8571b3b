python3 $PATCH f.cubin f1.cubin byte:.nv.info.f+0=0x46604 byte:.nv.info.f+4=1
python3 $PATCH g.cubin g2.cubin byte:.nv.info.g+0=0x46604 byte:.nv.info.g+4=2
python3 $PATCH k.cubin none.cubin byte:.nv.info.k+0=0x4fe04
python3 $PATCH one.cubin lone.cubin byte:.nv.info.k+0=0x4fe04
