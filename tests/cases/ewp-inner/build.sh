for f in p q c; do ptxas -arch=sm_80 -ewp $f.txt -o $f.cubin; done
