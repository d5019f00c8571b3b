python3 $PATCH a.cubin pa.cubin byte:.nv.callgraph+16=0 byte:.nv.callgraph+20=0xfffffffd byte:.nv.callgraph+24=0 byte:.nv.callgraph+28=0xfffffffc sec:.nv.callgraph:size=32
python3 $PATCH b.cubin pb.cubin byte:.nv.callgraph+24=0 byte:.nv.callgraph+28=0xfffffffd byte:.nv.callgraph+32=0 byte:.nv.callgraph+36=0xfffffffc sec:.nv.callgraph:size=40
