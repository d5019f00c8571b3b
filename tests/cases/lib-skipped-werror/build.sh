mkdir -p skip
echo short > skip/libshort.a
nvcc -arch=sm_90 -rdc=true -fatbin m.cu -o m.fatbin
nvcc -arch=sm_90 -dc m.cu -o m.o
rm -f libplain.a libcudadevrt.a
ar rc libplain.a m.o
cp libplain.a libcudadevrt.a
