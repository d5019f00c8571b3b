ptxas -arch=sm_100 -ewp whole.txt -o whole.cubin
ptxas -arch=sm_100 -ewp second.txt -o second.cubin
