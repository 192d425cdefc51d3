/* Status values, the error that a C function returns, checked sizes and alignment. The lowest
 * layer: includes no other file of the project, knows no tensor and no op. */
#ifndef DF_STATUS_H
#define DF_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DF_ALIGNMENT 64 /* bytes: one cache line, one AVX-512 register */

typedef enum {
    DF_OK = 0,
    DF_INVALID_ARGUMENT, /* a value that makes no sense: ValueError */
    DF_BAD_SHAPE,        /* incompatible shapes: ValueError */
    DF_BAD_DTYPE,        /* unsupported or incompatible dtypes: TypeError */
    DF_OUT_OF_RANGE,     /* an index beyond its dimension: IndexError */
    DF_OUT_OF_MEMORY,    /* MemoryError */
    DF_OVERFLOW,         /* a size beyond 64 bits, a number beyond its dtype: OverflowError */
    DF_UNIMPLEMENTED,    /* NotImplementedError */
    DF_CANCELLED,        /* the caller stopped a running program */
    DF_N_STATUS
} df_status;

/* Filled by the function that fails; the caller owns it. `text` names the op, the actual value and
 * the expected value. */
typedef struct {
    df_status status;
    char text[1000];
} df_error;

/* Formats `err->text`, sets and returns `status`, for use as `return df_fail(...)`. */
df_status df_fail(df_error *err, df_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* out = a * b or a + b. Returns false if the result is negative or exceeds 64 bits. */
static inline bool df_mul_size(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out) && *out >= 0;
}
static inline bool df_add_size(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out) && *out >= 0;
}

static inline int64_t df_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t df_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t df_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

#define DF_CAT_(a, b) a##_##b
#define DF_CAT(a, b) DF_CAT_(a, b)

#endif
