for f in a b; do nvcc -arch=sm_90 -rdc=true -cubin $f.cu -o $f.cubin || exit 1; done
nvcc -arch=sm_90 -G -rdc=true -cubin b.cu -o b-debug.cubin
