/* A program built with NVIDIA's nvJitLink.h, whose names have the version of the header: the calls of XLA, and a link of two files.
 *
 *     header PTX.. : each check is one line of JSON.
 */
#include <nvJitLink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) exit(2);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, *size + 1);
    if (fread(text, 1, *size, file) != *size) exit(2);
    fclose(file);
    return text;
}

static void print(const char *check, int a, int b, int c, size_t size) {
    printf("{\"check\": \"%s\", \"value\": [%d, %d, %d, %zu]}\n", check, a, b, c, size);
    fflush(stdout);
}

/* The newest version of PTX is asked for by compiling one that cannot be supported: the error log names it. */
static void probe(void) {
    static const char text[] = ".version 99.99\n.target sm_50\n.address_size 64\n";
    const char *options[] = {"-arch=sm_90"};
    nvJitLinkHandle handle;
    int created = nvJitLinkCreate(&handle, 1, options);
    int added = nvJitLinkAddData(handle, NVJITLINK_INPUT_PTX, text, sizeof text, NULL);
    size_t size = 0;
    nvJitLinkGetErrorLogSize(handle, &size);
    char *log = calloc(1, size + 1);
    nvJitLinkGetErrorLog(handle, log);
    int named = strstr(log, "Unsupported .version 99.99; current version is '") != NULL;
    print("xla: probe", created, added, named, 0);
    free(log);
    nvJitLinkDestroy(&handle);
}

static void compile(const char *check, int count, char **files, int nul) {
    const char *options[] = {"-arch=sm_90", "-verbose", "-Xptxas=--warn-on-spills", "-split-compile=2"};
    nvJitLinkHandle handle;
    int created = nvJitLinkCreate(&handle, 4, options), added = 0;
    for (int i = 0; i < count; i++) {
        size_t size;
        char *text = contents(files[i], &size);
        int status = nvJitLinkAddData(handle, NVJITLINK_INPUT_PTX, text, size + (size_t)nul, nul ? NULL : files[i]);
        added = added ? added : status;
        free(text);
    }
    int complete = nvJitLinkComplete(handle);
    size_t size = 0, log = 0;
    int sized = nvJitLinkGetLinkedCubinSize(handle, &size);
    char *cubin = malloc(size + 1);
    if (!sized) nvJitLinkGetLinkedCubin(handle, cubin);
    print(check, created, added, complete, 0);
    nvJitLinkGetInfoLogSize(handle, &log);
    char *info = calloc(1, log + 1);
    nvJitLinkGetInfoLog(handle, info);
    if (!sized) print("  image, info log", !memcmp(cubin, "\177ELF", 4), strstr(info, "registers") != NULL, 0, 0);
    free(info);
    free(cubin);
    nvJitLinkDestroy(&handle);
}

int main(int argc, char **argv) {
    unsigned major = 0, minor = 0;
    int status = nvJitLinkVersion(&major, &minor);
    print("version", status, (int)major, 0, 0);
    probe();
    compile("xla: PTX with NUL, no name", argc - 1, argv + 1, 1);
    compile("xla: after the probe, undefined", 1, argv + 1, 1);
    compile("PTX with name", argc - 1, argv + 1, 0);
    return 0;
}
