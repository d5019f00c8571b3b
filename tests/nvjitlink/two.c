/* two LIBRARY OUT -arch=sm_NN CUBIN..: links cubins through a library that is loaded by name and writes the image.
 *
 * For a library that cannot be loaded by the scripts, such as the DLL under wine:
 *   zig cc -target x86_64-windows-gnu -o two.exe two.c
 *   packaging/wine/run two.exe nvJitLink_130_0.dll out.cubin -arch=sm_90 a.cubin b.cubin
 * The image must be that of libnvJitLink.so.13. */
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#define OPEN(name) (void *)LoadLibraryA(name)
#define SYMBOL(library, name) (void *)GetProcAddress((HMODULE)(library), name)
#else
#include <dlfcn.h>
#define OPEN(name) dlopen(name, RTLD_NOW)
#define SYMBOL(library, name) dlsym(library, name)
#endif

enum { CUBIN = 1 };

static void *symbol(void *library, const char *name) {
    void *found = SYMBOL(library, name);
    if (!found) {
        printf("%s is missing\n", name);
        exit(4);
    }
    return found;
}

static char *contents(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    char *bytes = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        *size = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*size + 1);
    }
    if (!bytes || fread(bytes, 1, *size, file) != *size) {
        printf("%s cannot be read\n", name);
        exit(2);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    void *library = OPEN(argv[1]);
    if (!library) {
        printf("%s cannot be loaded\n", argv[1]);
        return 3;
    }
    int (*create)(void **, unsigned, const char **) = symbol(library, "nvJitLinkCreate");
    int (*add)(void *, int, const void *, size_t, const char *) = symbol(library, "nvJitLinkAddData");
    int (*complete)(void *) = symbol(library, "nvJitLinkComplete");
    int (*image_size)(void *, size_t *) = symbol(library, "nvJitLinkGetLinkedCubinSize");
    int (*image)(void *, void *) = symbol(library, "nvJitLinkGetLinkedCubin");
    int (*log_size)(void *, size_t *) = symbol(library, "nvJitLinkGetErrorLogSize");
    int (*log)(void *, char *) = symbol(library, "nvJitLinkGetErrorLog");
    int (*destroy)(void **) = symbol(library, "nvJitLinkDestroy");

    void *handle = NULL;
    size_t size = 0;
    const char *options[] = {argv[3]};
    int code = create(&handle, 1, options);
    for (int i = 4; i < argc && code == 0; i++) {
        char *bytes = contents(argv[i], &size);
        code = add(handle, CUBIN, bytes, size, argv[i]);
        free(bytes);
    }
    if (code == 0) code = complete(handle);
    if (code != 0) {
        log_size(handle, &size);
        char *text = calloc(1, size + 1);
        log(handle, text);
        printf("code %d\n%s", code, text);
        free(text);
        destroy(&handle);
        return 1;
    }
    image_size(handle, &size);
    char *bytes = malloc(size);
    code = image(handle, bytes);
    FILE *out = fopen(argv[2], "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out) != 0) code = 2;
    printf("code %d, %zu bytes\n", code, size);
    free(bytes);
    return code | destroy(&handle);
}
