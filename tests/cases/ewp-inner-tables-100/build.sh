for o in "" -lineinfo; do ptxas -arch=sm_100 -ewp $o a.txt -o a$o.cubin; done
ptxas -arch=sm_100 -ewp b.txt -o b.cubin
ptxas -arch=sm_100 -ewp --make-errors-visible-at-exit b.txt -o e.cubin
