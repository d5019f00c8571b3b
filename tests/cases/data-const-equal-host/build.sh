for f in first second third; do nvcc -arch=sm_90 -dc $f.cu -o $f.o || exit 1; done
