ptxas -arch=sm_80 -ewp whole.txt -o whole.cubin
python3 $PATCH b.cubin old.cubin ehdr.osabi=0x33 ehdr.abiversion=7 ehdr.e_version=129 ehdr.e_flags=0x500550
