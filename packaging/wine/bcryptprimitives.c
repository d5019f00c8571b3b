/* ProcessPrng for wine before 8.1, from RtlGenRandom. For tests only. It needs no C library: zig would compile one first. */
typedef unsigned char byte;
__declspec(dllimport) byte SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int ProcessPrng(byte *data, unsigned long long length) {
    return SystemFunction036(data, (unsigned long)length);
}

int DllMainCRTStartup(void *module, unsigned long reason, void *reserved) {
    return 1;
}
