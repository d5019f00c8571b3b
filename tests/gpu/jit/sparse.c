/* A sparse product with operations of its own (cusparseSpMMOp): libcusparse links them through the libnvJitLink that the process has.
 *
 *     sparse ADD.ltoir MUL.ltoir EPILOGUE.ltoir
 *
 * Prints which libnvJitLink was used. The matrix is 3 x 3: row 0 has (0, 1) and (2, 2), row 1 has (1, 3), row 2 has (0, 4).
 */
#include "driver.h"

typedef int64_t i64;

static DevicePointer upload(void *cuda, const void *data, size_t size) {
    DevicePointer at = 0;
    CALL(cuda, cuMemAlloc_v2, (DevicePointer *, size_t), &at, size);
    CALL(cuda, cuMemcpyHtoD_v2, (DevicePointer, const void *, size_t), at, data, size);
    return at;
}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    void *cuda = start_driver();
    void *sparse = dlopen("libcusparse.so.12", RTLD_NOW | RTLD_GLOBAL);
    if (!sparse) { printf("SKIP %s\n", dlerror()); return 77; }
    Dl_info info;
    void *used = dlsym(RTLD_DEFAULT, "nvJitLinkVersion");
    printf("nvJitLink: %s\n", used && dladdr(used, &info) ? info.dli_fname : "none");
    char *code[3];
    size_t sizes[3];
    for (int i = 0; i < 3; i++) code[i] = read_file(arguments[i + 1], &sizes[i]);

    int rows[] = {0, 2, 3, 4}, columns[] = {0, 2, 1, 0};
    float values[] = {1, 2, 3, 4}, b[] = {1, 2, 3, 4, 5, 6}, c[6] = {1, 1, 1, 1, 1, 1}, got[6];
    DevicePointer rows_at = upload(cuda, rows, sizeof rows), columns_at = upload(cuda, columns, sizeof columns), values_at = upload(cuda, values, sizeof values);
    DevicePointer b_at = upload(cuda, b, sizeof b), c_at = upload(cuda, c, sizeof c), buffer = 0;
    enum { R32F = 0, I32 = 2, ROW = 2, PLAIN = 0, DEFAULT = 0 };
    void *handle = NULL, *a = NULL, *mb = NULL, *mc = NULL, *plan = NULL;
    size_t needed = 0;
    CALL(sparse, cusparseCreate, (void **), &handle);
    CALL(sparse, cusparseCreateCsr, (void **, i64, i64, i64, DevicePointer, DevicePointer, DevicePointer, int, int, int, int), &a, 3, 3, 4, rows_at, columns_at, values_at, I32,
         I32, 0, R32F);
    CALL(sparse, cusparseCreateDnMat, (void **, i64, i64, i64, DevicePointer, int, int), &mb, 3, 2, 2, b_at, R32F, ROW);
    CALL(sparse, cusparseCreateDnMat, (void **, i64, i64, i64, DevicePointer, int, int), &mc, 3, 2, 2, c_at, R32F, ROW);
    CALL(sparse, cusparseSpMMOp_createPlan,
         (void *, void **, int, int, void *, void *, void *, int, int, const void *, size_t, const void *, size_t, const void *, size_t, size_t *), handle, &plan, PLAIN, PLAIN, a,
         mb, mc, R32F, DEFAULT, code[0], sizes[0], code[1], sizes[1], code[2], sizes[2], &needed);
    CALL(cuda, cuMemAlloc_v2, (DevicePointer *, size_t), &buffer, needed + 16);
    CALL(sparse, cusparseSpMMOp, (void *, DevicePointer), plan, buffer);
    CALL(cuda, cuMemcpyDtoH_v2, (void *, DevicePointer, size_t), got, c_at, sizeof got);
    /* The epilogue is 2 * product + old value. */
    float product[] = {11, 14, 9, 12, 4, 8};
    for (int i = 0; i < 6; i++) {
        if (got[i] != 2 * product[i] + 1 && got[i] != 2 + product[i]) { printf("FAIL c[%d] is %g, the product is %g\n", i, got[i], product[i]); return 1; }
    }
    printf("PASS %g %g %g %g %g %g\n", got[0], got[1], got[2], got[3], got[4], got[5]);
    return 0;
}
