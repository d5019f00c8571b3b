for f in a b c; do ptxas -arch=sm_120 -c $f.txt -o $f.cubin; done
