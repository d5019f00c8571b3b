/* Links device objects: link ARCH OUTPUT INPUT..
 *
 *     cc link.c -lculd -o link && ./link sm_90 out.cubin saxpy.cubin combine.cubin
 */
#include <culd.h>
#include <stdio.h>

static const char *word(culd_severity severity) {
    return severity == CULD_ERROR ? "error" : severity == CULD_WARNING ? "warning" : "info";
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: %s ARCH OUTPUT INPUT..\n", argv[0]);
        return 2;
    }
    culd_linker *linker = culd_linker_new(argv[1]);
    if (!linker) {
        fprintf(stderr, "%s is not an architecture\n", argv[1]);
        return 2;
    }
    for (int i = 3; i < argc; i++) culd_linker_add_file(linker, argv[i]);
    culd_result *result = culd_link(linker);
    culd_linker_free(linker);

    for (size_t i = 0; i < culd_result_diagnostic_count(result); i++) {
        culd_diagnostic d;
        culd_result_diagnostic(result, i, &d);
        fprintf(stderr, "%s: %s [%s]\n", word(d.severity), d.text, d.code);
    }
    for (size_t i = 0; i < culd_result_kernel_count(result); i++) {
        culd_kernel k;
        culd_result_kernel(result, i, &k);
        printf("%s: %u registers, %llu bytes of stack, %llu bytes of shared memory\n", k.demangled, k.registers,
               (unsigned long long)k.stack, (unsigned long long)k.shared);
    }
    size_t size = 0;
    const void *image = culd_result_image(result, &size);
    int failed = !image;
    if (image) {
        FILE *file = fopen(argv[2], "wb");
        failed = !file || fwrite(image, 1, size, file) != size;
        failed |= file && fclose(file) != 0;
    }
    culd_result_free(result);
    return failed;
}
