/* libnvJitLink under load, with the files of `cargo xtask nvjitlink`:
 *
 *     cc -O1 -pthread stress.c -ldl -o stress
 *     stress LIBRARY threads SECONDS THREADS FILE FILE ..   threads with handles of their own, every link must give the same bytes
 *     stress LIBRARY mixed SECONDS THREADS FILE FILE ..     as threads, and every second thread changes inputs and options
 *     stress LIBRARY fuzz SECONDS SEED FILE FILE ..         changed inputs and options; a crash or a hang is the failure
 *     stress LIBRARY growth LINKS 0 FILE FILE ..            resident memory after a tenth of the links and at the end
 *
 * Files are cubins for sm_90; the first two link with each other. A link of `mixed` that takes more than 60 s is a hang, and ends the program.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef int (*call)(void *, ...);
static call create, destroy, add, complete, cubin_size, cubin, error_size, error_log, info_size, info_log;
static int files;
static struct { char *data; size_t size; } input[64];
static char *expected;
static size_t expected_size;
static double until;
static atomic_ulong done, wrong, runs, images;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident(void) {
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static char *link_two(size_t *size) {
    const char *options[] = {"-arch=sm_90"};
    void *handle = NULL;
    char *out = NULL;
    if (create((void *)&handle, 1u, options)) return NULL;
    if (!add(handle, 1, input[0].data, input[0].size, "a") && !add(handle, 1, input[1].data, input[1].size, "b") && !complete(handle) &&
        !cubin_size(handle, size)) {
        out = malloc(*size);
        cubin(handle, out);
    }
    destroy((void *)&handle);
    return out;
}

static void *worker(void *unused) {
    while (now() < until) {
        size_t size = 0;
        char *image = link_two(&size);
        if (!image || size != expected_size || memcmp(image, expected, size)) wrong++;
        free(image);
        done++;
    }
    return unused;
}

static _Thread_local uint64_t state;
static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % below;
}

/* A copy of an input with some bytes, words or ranges changed, or cut, or with a part of another. */
static char *mutant(size_t *size) {
    int which = (int)draw((uint32_t)files);
    *size = input[which].size;
    char *data = malloc(*size + 1);
    memcpy(data, input[which].data, *size);
    data[*size] = 0;
    uint32_t changes = draw(6);
    for (uint32_t i = 0; i < changes && *size > 16; i++) {
        size_t at = draw(3) ? draw((uint32_t)*size) : draw(*size < 512 ? (uint32_t)*size : 512);
        static const uint64_t edge[] = {0, 1, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x100000000, UINT64_MAX, UINT64_MAX / 2};
        size_t width = (size_t)1 << draw(4);
        switch (draw(5)) {
        case 0: data[at] ^= (char)(1 << draw(8)); break;
        case 1: data[at] = (char)draw(256); break;
        case 2:
            if (at + width <= *size) memcpy(data + at, &edge[draw(9)], width);
            break;
        case 3:
            if (draw(4) == 0) *size = at + 1;
            break;
        default: {
            int other = (int)draw((uint32_t)files);
            size_t length = draw(64), from = draw((uint32_t)input[other].size);
            if (at + length <= *size && from + length <= input[other].size) memcpy(data + at, input[other].data + from, length);
        }
        }
    }
    return data;
}

static void fuzz(void) {
    static const char *known[] = {"-arch=sm_90",  "-arch=sm_80", "-arch=sm_100", "-r",           "-g",           "-lineinfo", "-verbose", "-maxrregcount=32",
                                  "-kernels-used=call", "-variables-used=counter", "-O3", "-optimize-unused-variables", "-no-cache", "-split-compile=2",
                                  "-arch=sm_9", "-arch=", "-", "", "-ftz=true", "-Xptxas=-O1", "-suppress-debug-info", "-time", "-arch=sm_99999999999"};
    static const int kinds[] = {1, 4, 5, 6, 10, 7, 0, 99, 1, 10};
    char text[4][64];
    const char *options[5];
    unsigned count = 1 + draw(4);
    options[0] = "-arch=sm_90";
    for (unsigned i = 1; i < count; i++) {
        options[i] = known[draw(sizeof known / sizeof *known)];
        if (draw(8) == 0 && *options[i]) {
            snprintf(text[i - 1], 64, "%s", options[i]);
            text[i - 1][draw((uint32_t)strlen(options[i]))] = (char)(1 + draw(255));
            options[i] = text[i - 1];
        }
    }
    void *handle = NULL;
    int status = create((void *)&handle, count, options);
    unsigned inputs = draw(4);
    char *keep[4];
    for (unsigned i = 0; i < inputs; i++) {
        size_t size;
        keep[i] = mutant(&size);
        if (handle) status |= add(handle, kinds[draw(10)], keep[i], size, draw(4) ? "name" : NULL);
    }
    if (handle) {
        size_t size = 0;
        int linked = complete(handle);
        if (!cubin_size(handle, &size)) {
            char *out = malloc(size + 1);
            cubin(handle, out);
            free(out);
            if (linked) wrong++;
            images++;
        }
        if (!error_size(handle, &size)) {
            char *log = calloc(1, size + 1);
            error_log(handle, log);
            if (linked && !size) wrong++;
            free(log);
        }
        if (!info_size(handle, &size)) {
            char *log = calloc(1, size + 1);
            info_log(handle, log);
            free(log);
        }
        destroy((void *)&handle);
    }
    for (unsigned i = 0; i < inputs; i++) free(keep[i]);
}

#define LONGEST 60
#define MOST 64
static _Atomic double begun[MOST];

/* Thread i of `mixed`. */
static void *mixed(void *number) {
    size_t i = (size_t)number;
    state = (i + 1) * 0x9e3779b97f4a7c15u;
    while (now() < until) {
        begun[i] = now();
        size_t size = 0;
        char *image = link_two(&size);
        if (!image || size != expected_size || memcmp(image, expected, size)) wrong++;
        free(image);
        done++;
        if (i % 2) fuzz(), runs++;
    }
    begun[i] = 0;
    return NULL;
}

/* Waits for the threads of `mixed`; one that makes no progress ends the program. */
static void watch(long threads) {
    for (int busy = 1; busy;) {
        sleep(1);
        busy = 0;
        for (long i = 0; i < threads; i++) {
            double since = begun[i];
            if (since == 0) continue;
            busy = 1;
            if (now() - since > LONGEST) {
                printf("thread %ld: no progress for %d s\n", i, LONGEST);
                _exit(1);
            }
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
#define FIND(name, symbol) name = (call)dlsym(library, "nvJitLink" symbol)
    FIND(create, "Create"), FIND(destroy, "Destroy"), FIND(add, "AddData"), FIND(complete, "Complete");
    FIND(cubin_size, "GetLinkedCubinSize"), FIND(cubin, "GetLinkedCubin"), FIND(error_size, "GetErrorLogSize"), FIND(error_log, "GetErrorLog");
    FIND(info_size, "GetInfoLogSize"), FIND(info_log, "GetInfoLog");
    for (files = 0; files < argc - 5 && files < 64; files++) {
        FILE *file = fopen(argv[files + 5], "rb");
        if (!file) return 2;
        fseek(file, 0, SEEK_END);
        input[files].size = (size_t)ftell(file);
        rewind(file);
        input[files].data = malloc(input[files].size + 1);
        if (fread(input[files].data, 1, input[files].size, file) != input[files].size) return 2;
        fclose(file);
    }
    expected = link_two(&expected_size);
    if (!expected) return fprintf(stderr, "the first two files do not link\n"), 2;
    long number = atol(argv[3]), second = atol(argv[4]);
    double start = now();
    until = start + (double)number;
    if (!strcmp(argv[2], "threads")) {
        pthread_t threads[64];
        for (long i = 0; i < second; i++) pthread_create(&threads[i], NULL, worker, NULL);
        for (long i = 0; i < second; i++) pthread_join(threads[i], NULL);
        printf("%ld threads, %.0f s: %lu links, %lu wrong, %ld KiB resident\n", second, now() - start, done, wrong, resident());
    } else if (!strcmp(argv[2], "mixed")) {
        pthread_t threads[MOST];
        if (second < 1 || second > MOST) return 2;
        for (long i = 0; i < second; i++) begun[i] = now();
        for (long i = 0; i < second; i++) pthread_create(&threads[i], NULL, mixed, (void *)i);
        watch(second);
        for (long i = 0; i < second; i++) pthread_join(threads[i], NULL);
        printf("%ld threads, %.0f s: %lu links and %lu runs with changed inputs (%lu images), %lu wrong, %ld KiB resident\n", second, now() - start, done,
               runs, images, wrong, resident());
    } else if (!strcmp(argv[2], "fuzz")) {
        unsigned long last = 0;
        state = (uint64_t)second * 0x9e3779b97f4a7c15u + 1;
        for (; now() < until; runs++) {
            double before = now();
            alarm(20);
            fuzz();
            double took = now() - before;
            if (took * 1e6 > (double)last) last = (unsigned long)(took * 1e6);
            if (runs % 20000 == 0) printf("%lu runs: %ld KiB resident\n", runs, resident());
        }
        printf("fuzz, seed %ld: %lu runs, %lu images, %lu wrong, slowest %lu us, %ld KiB resident\n", second, runs, images, wrong, last, resident());
    } else {
        long before = 0;
        for (long i = 0; i < number; i++) {
            size_t size = 0;
            char *image = link_two(&size);
            if (!image || size != expected_size || memcmp(image, expected, size)) wrong++;
            free(image);
            if (i == number / 10) before = resident();
        }
        printf("%ld links in %.1f s: %ld KiB resident after a tenth, %ld KiB at the end, %lu wrong\n", number, now() - start, before, resident(), wrong);
        return wrong || resident() > before + 1024;
    }
    return wrong != 0;
}
