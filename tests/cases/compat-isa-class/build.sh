python3 $PATCH a.cubin p.cubin sec:.nv.compat:size=4
python3 $PATCH a.cubin q.cubin sec:.nv.compat:size=4
