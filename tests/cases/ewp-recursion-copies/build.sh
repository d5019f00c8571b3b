for f in weak-deep weak-flat deep; do ptxas -arch=sm_80 -ewp $f.txt -o $f.cubin || exit 1; done
for f in weak-flat; do ptxas -arch=sm_80 -c $f.txt -o $f-c.cubin || exit 1; done
