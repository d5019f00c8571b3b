/* Functions of the driver, loaded by name: the programs are built where there is no driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t DevicePointer;

static void fail(const char *what, int code) {
    printf("FAIL %s: %d\n", what, code);
    exit(1);
}

static void *load(const char *library) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) {
        printf("FAIL %s\n", dlerror());
        exit(1);
    }
    return handle;
}

static void *function(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("FAIL no function %s\n", name);
        exit(1);
    }
    return found;
}

/* Calls a function of a library that returns an int; anything but 0 ends the program. */
#define CALL(library, name, types, ...)                                              \
    do {                                                                             \
        int code_ = ((int(*) types)function(library, #name))(__VA_ARGS__);           \
        if (code_) fail(#name, code_);                                               \
    } while (0)

/* Makes the primary context of the first device current. */
static void *start_driver(void) {
    void *cuda = load("libcuda.so.1");
    void *context = NULL;
    int device = 0;
    CALL(cuda, cuInit, (unsigned), 0);
    CALL(cuda, cuDeviceGet, (int *, int), &device, 0);
    CALL(cuda, cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuda, cuCtxSetCurrent, (void *), context);
    return cuda;
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path, 0);
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *bytes = calloc(*size + 1, 1);
    if (fread(bytes, 1, *size, file) != *size) fail(path, 1);
    fclose(file);
    return bytes;
}
