for f in a b d g; do ptxas -arch=sm_100 -ewp $f.txt -o $f.cubin; done
