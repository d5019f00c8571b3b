ptxas -arch=sm_80 -ewp whole.txt -o whole.cubin
