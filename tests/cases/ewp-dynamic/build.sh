ptxas -arch=sm_90 -ewp d.txt -o d.cubin
