for f in a b; do nvcc -arch=sm_90 -dc $f.cu -o $f.o || exit 1; done
