ptxas -arch=sm_80 -ewp e.txt -o e.cubin
