for n in 80; do for f in a b c d e; do sed "s/sm_90/sm_$n/" $f.ptx > $f$n.ptx; ptxas -arch=sm_$n --compile-only $f$n.ptx -o $f$n.cubin || exit 1; done; done
