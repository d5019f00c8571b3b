for n in 80; do sed "s/sm_90/sm_$n/" a.ptx > a$n.ptx; ptxas -arch=sm_$n --compile-only a$n.ptx -o a$n.cubin || exit 1; done
