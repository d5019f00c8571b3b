ptxas -arch=sm_80 a.txt -o linked.cubin
