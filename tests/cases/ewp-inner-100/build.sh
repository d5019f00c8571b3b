for f in p q; do ptxas -arch=sm_100 -ewp $f.txt -o $f.cubin; done
