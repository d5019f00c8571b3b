#!/bin/sh
# Compiles the objects that the tests link: NVCC=path/to/nvcc ./build.sh
set -e
cd "$(dirname "$0")"
: "${NVCC:=nvcc}"
mkdir -p ../objects
for source in *.cu; do
    "$NVCC" -arch=sm_90 -rdc=true -cubin "$source" -o "../objects/${source%.cu}.cubin"
done
for source in *.ptx; do
    "$NVCC" -arch=sm_90 -rdc=true -cubin "$source" -o "../objects/${source%.ptx}.cubin"
done
# Line tables have the directory of the source: a fixed one.
objects=$(cd ../objects && pwd)
mkdir -p /tmp/culd-mistakes && cp lines.cu /tmp/culd-mistakes
(
    cd /tmp/culd-mistakes
    for arch in 75 90 100; do
        "$NVCC" -arch=sm_$arch -rdc=true -lineinfo -cubin lines.cu -o "$objects/lines_$arch.cubin"
    done
    "$NVCC" -arch=sm_90 -rdc=true -G -cubin lines.cu -o "$objects/lines_debug.cubin"
)
rm -r /tmp/culd-mistakes "$objects/lines.cubin"
"$NVCC" -arch=sm_80 -rdc=true -cubin helper.cu -o ../objects/helper_80.cubin
"$NVCC" -arch=sm_80 -rdc=true -fatbin helper.cu -o ../objects/helper_80.fatbin
"$NVCC" -gencode arch=compute_80,code=sm_80 -dc helper.cu -o ../objects/helper_80.o
"$NVCC" -gencode arch=compute_90,code=sm_90 -c helper.cu -o ../objects/helper_nordc.o
for source in main parts helper; do
    "$NVCC" -gencode arch=compute_90,code=lto_90 -dc "$source.cu" -o "../objects/${source}_lto.o"
done
"$NVCC" -gencode arch=compute_100,code=compute_100 -dc helper.cu -o ../objects/helper_ptx100.o
rm -f ../objects/libhelper.a
ar rcD ../objects/libhelper.a ../objects/helper.cubin
rm -f ../objects/libdeep.a
ar rcD ../objects/libdeep.a ../objects/helper_80.o ../objects/helper_80.cubin
rm -f ../objects/libunused.a
ar rcD ../objects/libunused.a ../objects/shared.cubin
