for f in static static-many dynamic; do ptxas -arch=sm_80 -ewp $f.txt -o $f.cubin || exit 1; done
for f in few static; do ptxas -arch=sm_80 -c $f.txt -o $f-c.cubin || exit 1; done
