for f in w s; do sed 's/sm_90/sm_80/' $f.ptx > ${f}80.ptx; ptxas -arch=sm_80 --compile-only ${f}80.ptx -o ${f}80.cubin; done
