for n in 75 80 86 87 89; do for f in s t x; do sed "s/sm_90/sm_$n/" $f.ptx > $f$n.ptx; ptxas -arch=sm_$n --compile-only $f$n.ptx -o $f$n.cubin || exit 1; done; done
