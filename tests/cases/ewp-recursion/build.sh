ptxas -arch=sm_80 -ewp deep.txt -o deep.cubin || exit 1
ptxas -arch=sm_80 -ewp frames.txt -o frames.cubin || exit 1
ptxas -arch=sm_80 -c other.txt -o other.cubin || exit 1
