python3 $PATCH b.cubin pb.cubin sec:.nv.callgraph:size=40
