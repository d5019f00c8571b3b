/* Links objects through a libnvJitLink, loads the result with the driver, launches its kernel and checks what it computes.
 *
 *     jit LIBRARY OPTION.. TYPE:FILE..
 *
 * TYPE is the number of the input type: 1 cubin, 2 PTX, 3 LTO IR, 4 fat binary, 5 object, 6 archive, 10 any.
 */
#include "driver.h"

#define N 256

int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL), *handle = NULL;
    if (!library) { printf("FAIL %s\n", dlerror()); return 1; }
    const char *options[32];
    int n = 2, list = 0;
    for (; n < count && arguments[n][0] == '-'; n++) options[list++] = arguments[n];
    CALL(library, nvJitLinkCreate, (void **, uint32_t, const char **), &handle, list, options);
    int code = 0;
    for (; n < count && !code; n++) {
        char *path = strchr(arguments[n], ':') + 1;
        int type = atoi(arguments[n]);
        size_t size;
        char *bytes = read_file(path, &size);
        /* The final NUL of PTX is part of the input. */
        code = ((int (*)(void *, int, const void *, size_t, const char *))function(library, "nvJitLinkAddData"))(handle, type, bytes, size + (type == 2), path);
        free(bytes);
    }
    if (!code) code = ((int (*)(void *))function(library, "nvJitLinkComplete"))(handle);
    if (code) {
        size_t size = 0;
        CALL(library, nvJitLinkGetErrorLogSize, (void *, size_t *), handle, &size);
        char *log = calloc(size + 1, 1);
        CALL(library, nvJitLinkGetErrorLog, (void *, char *), handle, log);
        printf("FAIL link: %d %s\n", code, log);
        return 1;
    }
    size_t size = 0;
    CALL(library, nvJitLinkGetLinkedCubinSize, (void *, size_t *), handle, &size);
    char *image = malloc(size);
    CALL(library, nvJitLinkGetLinkedCubin, (void *, void *), handle, image);
    CALL(library, nvJitLinkDestroy, (void **), &handle);

    void *cuda = start_driver(), *module = NULL, *kernel = NULL;
    DevicePointer out = 0;
    CALL(cuda, cuModuleLoadData, (void **, const void *), &module, image);
    CALL(cuda, cuModuleGetFunction, (void **, void *, const char *), &kernel, module, "scale");
    CALL(cuda, cuMemAlloc_v2, (DevicePointer *, size_t), &out, N * sizeof(float));
    int length = N;
    void *parameters[] = {&out, &length};
    CALL(cuda, cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), kernel, N / 64, 1, 1, 64, 1, 1, 0,
         NULL, parameters, NULL);
    float got[N];
    CALL(cuda, cuMemcpyDtoH_v2, (void *, DevicePointer, size_t), got, out, sizeof got);
    float factors[] = {1, 10, 100, 1000};
    for (int i = 0; i < N; i++) {
        float wanted = i * factors[i % 4] + (i & 1) + 0.5f;
        if (got[i] != wanted) { printf("FAIL out[%d] is %g, expected %g\n", i, got[i], wanted); return 1; }
    }
    printf("PASS %zu bytes\n", size);
    return 0;
}
