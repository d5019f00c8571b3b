python3 grow.py a.cubin fits.cubin f0 0xff80
python3 grow.py a.cubin over.cubin f0 0xff84
python3 grow.py a.cubin function.cubin f0 0x10004
python3 grow.py b.cubin kernel.cubin kz 0x10004
