/* culd, a device linker for CUDA: the C interface.
 *
 * 1. Make a linker for an architecture, add inputs of any kind (cubin, fatbin, host object, archive, PTX, LTO IR), set options.
 * 2. culd_link() returns a result: an image, or the reasons why there is none. Both have diagnostics.
 * 3. Free both. What a getter returns belongs to the result and lives as long as it does.
 *
 * No function prints, exits, installs signal handlers or changes the environment. NULL where a pointer is required is CULD_INVALID_ARGUMENT, or a
 * NULL or zero result. One linker may be used by one thread at a time; different linkers are independent. Text is UTF-8 and ends with a NUL.
 */
#ifndef CULD_H
#define CULD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increased when a function is added. Functions are never removed or changed within one soname. */
#define CULD_API_VERSION 1

typedef struct culd_linker culd_linker;
typedef struct culd_result culd_result;
typedef struct culd_text culd_text;

typedef enum culd_status {
    CULD_OK = 0,
    CULD_INVALID_ARGUMENT = 1, /* a NULL pointer, text that is not UTF-8, an unknown number or name */
    CULD_PANIC = 2             /* a defect of culd; the linker must only be freed */
} culd_status;

typedef enum culd_input_kind {
    CULD_INPUT_ANY = 0, /* its content decides */
    CULD_INPUT_CUBIN = 1,
    CULD_INPUT_PTX = 2,
    CULD_INPUT_LTOIR = 3,
    CULD_INPUT_FATBIN = 4,
    CULD_INPUT_OBJECT = 5,
    CULD_INPUT_ARCHIVE = 6
} culd_input_kind;

typedef enum culd_severity { CULD_INFO = 0, CULD_WARNING = 1, CULD_ERROR = 2 } culd_severity;

typedef enum culd_option {
    CULD_DEBUG = 1,                   /* keep what a debugger can use */
    CULD_RELOCATABLE = 2,             /* make an object that can be linked again */
    CULD_PRESERVE_RELOCS = 3,         /* keep resolved relocations in sections of their own */
    CULD_KEEP_UNLAUNCHED_KERNELS = 4, /* keep kernels that no host object launches */
    CULD_ALLOW_UNDEFINED_GLOBALS = 5, /* admit references to global variables that no input defines */
    CULD_EXTRA_WARNINGS = 6,
    CULD_WARNINGS_AS_ERRORS = 7,
    CULD_SKIP_FOREIGN_CODE = 8, /* pass over inputs without code for the target, as long as one has some */
    CULD_VERIFY = 9,            /* read the image again and compare it with the inputs */
    CULD_LTO = 10               /* optimize LTO IR with the installed libnvJitLink of NVIDIA */
} culd_option;

typedef struct culd_diagnostic {
    culd_severity severity;
    const char *code;   /* stable name, such as "UndefinedReference" */
    const char *text;   /* one or more lines without a final newline */
    const char *file;   /* the input that it is about, or NULL */
    const char *symbol; /* the symbol that it is about, as in the file, or NULL */
} culd_diagnostic;

/* The stack of a kernel that recurses or calls through pointers. */
#define CULD_STACK_UNKNOWN UINT64_MAX

typedef struct culd_kernel {
    const char *name;
    const char *demangled;
    uint32_t registers; /* per thread */
    uint32_t barriers;
    uint64_t stack;  /* bytes per thread, or CULD_STACK_UNKNOWN */
    uint64_t shared; /* bytes of static shared memory */
} culd_kernel;

/* Version of the library, such as "0.1.0", and CULD_API_VERSION of the library. */
const char *culd_version(void);
uint32_t culd_api_version(void);

/* A linker for "sm_90", "sm_100a", ... NULL for a name that is not an architecture. */
culd_linker *culd_linker_new(const char *arch);
void culd_linker_free(culd_linker *linker);

/* Inputs, in link order. Data and names are copied; files are read by culd_link(). `name` appears in diagnostics and may be NULL. */
culd_status culd_linker_add_memory(culd_linker *linker, culd_input_kind kind, const char *name, const void *data, size_t size);
culd_status culd_linker_add_file(culd_linker *linker, const char *path);
/* lib<name>.a, searched in the directories that were added. Libraries come after all other inputs. */
culd_status culd_linker_add_library(culd_linker *linker, const char *name);
culd_status culd_linker_add_library_path(culd_linker *linker, const char *directory);

/* Options. */
culd_status culd_linker_set(culd_linker *linker, culd_option option, bool on);
culd_status culd_linker_set_threads(culd_linker *linker, uint32_t threads);     /* 0: all cores; small links start none */
culd_status culd_linker_set_max_registers(culd_linker *linker, uint32_t count); /* for PTX inputs */
culd_status culd_linker_add_ptxas_option(culd_linker *linker, const char *option);
culd_status culd_linker_set_ptxas(culd_linker *linker, const char *path);
culd_status culd_linker_set_nvjitlink(culd_linker *linker, const char *path);
culd_status culd_linker_set_release(culd_linker *linker, const char *release); /* rules of "13.0", "13.4", ... */
culd_status culd_linker_use_kernel(culd_linker *linker, const char *name);     /* keep only kernels whose name contains one of these */
culd_status culd_linker_use_variable(culd_linker *linker, const char *name);

/* Links. The linker is not changed and can be linked again. NULL only for a NULL linker. */
culd_result *culd_link(const culd_linker *linker);
void culd_result_free(culd_result *result);

bool culd_result_ok(const culd_result *result);
/* The image, or NULL and size 0. */
const void *culd_result_image(const culd_result *result, size_t *size);
size_t culd_result_diagnostic_count(const culd_result *result);
bool culd_result_diagnostic(const culd_result *result, size_t index, culd_diagnostic *out);
size_t culd_result_kernel_count(const culd_result *result);
bool culd_result_kernel(const culd_result *result, size_t index, culd_kernel *out);
/* Everything but the image as JSON: format, linker, target, size, inputs, memory, kernels, diagnostics. For a failed link: diagnostics. */
const char *culd_result_json(const culd_result *result);

/* What is in a device file of any kind, and how two of them differ: as text, or as JSON (docs/json.md). NULL for a NULL pointer. */
culd_text *culd_dump(const char *name, const void *data, size_t size, bool json);
culd_text *culd_diff(const void *a, size_t a_size, const void *b, size_t b_size, bool json);
const char *culd_text_get(const culd_text *text);
/* culd_dump: the file is sound. culd_diff: the files are equal. */
bool culd_text_good(const culd_text *text);
void culd_text_free(culd_text *text);

#ifdef __cplusplus
}
#endif
#endif
