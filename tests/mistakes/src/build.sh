#!/bin/sh
# Compiles the objects that the tests link: NVCC=path/to/nvcc ./build.sh
set -e
cd "$(dirname "$0")"
: "${NVCC:=nvcc}"
mkdir -p ../objects
for source in *.cu; do
    "$NVCC" -arch=sm_90 -rdc=true -cubin "$source" -o "../objects/${source%.cu}.cubin"
done
"$NVCC" -arch=sm_80 -rdc=true -cubin helper.cu -o ../objects/helper_80.cubin
"$NVCC" -arch=sm_80 -rdc=true -fatbin helper.cu -o ../objects/helper_80.fatbin
"$NVCC" -gencode arch=compute_80,code=sm_80 -dc helper.cu -o ../objects/helper_80.o
"$NVCC" -gencode arch=compute_90,code=sm_90 -c helper.cu -o ../objects/helper_nordc.o
"$NVCC" -gencode arch=compute_90,code=lto_90 -dc helper.cu -o ../objects/helper_lto.o
"$NVCC" -gencode arch=compute_100,code=compute_100 -dc helper.cu -o ../objects/helper_ptx100.o
rm -f ../objects/libhelper.a
ar rcD ../objects/libhelper.a ../objects/helper.cubin
