for f in p q c; do ptxas -arch=sm_90 -ewp $f.txt -o $f.cubin; done
