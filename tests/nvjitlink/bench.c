/* Time and memory of small links through the C interface of libnvJitLink.
 *
 *     cc -O2 bench.c -o bench -ldl
 *     bench LIBRARY LINKS FILE.. [-- OPTION..]
 *
 * Prints the time to load the library, of the first link, and of the others (mean, median), and the memory before and after them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static long resident(void) {
    long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
    if (file) fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef int (*Create)(void **, uint32_t, const char **);
typedef int (*Destroy)(void **);
typedef int (*Add)(void *, int, const void *, size_t, const char *);
typedef int (*Complete)(void *);
typedef int (*Size)(void *, size_t *);
typedef int (*Get)(void *, void *);

int main(int count, char **arguments) {
    int links = atoi(arguments[2]), files = 0, options = 0;
    char *data[64];
    size_t sizes[64];
    const char *names[64], *list[64] = {"-arch=sm_90"};
    options = 1;
    for (int i = 3, after = 0; i < count && i < 64; i++) {
        if (!strcmp(arguments[i], "--")) { after = 1; options = 0; continue; }
        if (after) { list[options++] = arguments[i]; continue; }
        FILE *file = fopen(arguments[i], "rb");
        if (!file) return 2;
        fseek(file, 0, SEEK_END);
        sizes[files] = ftell(file);
        rewind(file);
        data[files] = malloc(sizes[files]);
        if (fread(data[files], 1, sizes[files], file) != sizes[files]) return 2;
        fclose(file);
        names[files++] = arguments[i];
    }
    long before = resident();
    double start = now();
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 2; }
    double load = now() - start;
    long loaded = resident();
    Create create = (Create)dlsym(library, "nvJitLinkCreate");
    Destroy destroy = (Destroy)dlsym(library, "nvJitLinkDestroy");
    Add add = (Add)dlsym(library, "nvJitLinkAddData");
    Complete complete = (Complete)dlsym(library, "nvJitLinkComplete");
    Size size = (Size)dlsym(library, "nvJitLinkGetLinkedCubinSize");
    Get get = (Get)dlsym(library, "nvJitLinkGetLinkedCubin");
    double *times = malloc(sizeof(double) * links), sum = 0, first = 0;
    memset(times, 1, sizeof(double) * links); /* its pages must not count as growth */
    long early = 0;
    int failed = 0;
    for (int n = 0; n < links; n++) {
        start = now();
        void *handle = NULL;
        int code = create(&handle, options, list);
        for (int i = 0; i < files && !code; i++) code = add(handle, 1, data[i], sizes[i], names[i]);
        if (!code) code = complete(handle);
        size_t bytes = 0;
        if (!code && !size(handle, &bytes)) {
            void *image = malloc(bytes);
            code = get(handle, image);
            free(image);
        }
        destroy(&handle);
        times[n] = now() - start;
        failed += code != 0;
        if (n == 0) first = times[n]; else sum += times[n];
        if (n == links / 10) early = resident();
    }
    long late = resident();
    qsort(times, links, sizeof(double), ascending);
    printf("load %.0f us, %ld KB; first link %.0f us; mean %.1f us, median %.1f us, best %.1f us over %d links (%d failed); memory %ld KB after a tenth, %ld KB at the end\n",
           load, loaded - before, first, links > 1 ? sum / (links - 1) : first, times[links / 2], times[0], links, failed, early, late);
    return 0;
}
