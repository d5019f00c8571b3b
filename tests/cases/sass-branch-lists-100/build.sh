ptxas -arch=sm_100 -c --disable-optimizer-constants a.txt -o a.cubin
ptxas -arch=sm_100 -c --disable-optimizer-constants --make-errors-visible-at-exit a.txt -o e.cubin
ptxas -arch=sm_100 -c b.txt -o b.cubin
