ptxas -arch=sm_100 -ewp k.txt -o k.cubin
