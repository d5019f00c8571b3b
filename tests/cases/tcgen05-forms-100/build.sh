# In CUDA 12 tensor memory has other reserved variables.
python3 - <<'P'
data = open("b.cubin", "rb").read()
new, old = b"__nv_reservedSMEM_tcgen05_partition", b"__nv_reservedSMEM_allocation_phase\0"
open("old.cubin", "wb").write(data.replace(new, old))
P
