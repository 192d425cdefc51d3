/* Epilogues of matrix products and convolutions: elementwise steps on sums that are in cache or in
 * registers. */
#ifndef DF_GEMM_EPILOGUE_H
#define DF_GEMM_EPILOGUE_H

#include <stdbool.h>
#include <stdint.h>

/* Called with finished pieces of C while they are in cache: `rows` x `cols` elements at `c`, the
 * first at column col0 of row `row` (rows are numbered through the batch: product * m + i). Each
 * element of C is in exactly one piece; threads deliver pieces concurrently. */
typedef void (*df_gemm_epilogue)(const void *context, int64_t row, int64_t rows, int64_t col0,
                                 int64_t cols, void *c, int64_t ldc);

/* --- in registers: steps that kernels apply to finished float32 sums before these are stored, such
 * as a bias, a residual, an activation. The bits are those of the tile functions of the ops. --- */

typedef enum {
    DF_FINISH_ADD, DF_FINISH_MULTIPLY,
    DF_FINISH_MAXIMUM, DF_FINISH_MINIMUM, DF_FINISH_DIVIDE, /* the sum is the first operand */
    DF_FINISH_RELU, DF_FINISH_RELU6, DF_FINISH_SIGMOID, DF_FINISH_SILU,
    DF_FINISH_SWISH, /* x sigmoid(x), each rounded */
    DF_FINISH_KEEP,  /* copies the sums, for a later step with operand KEPT */
} df_finish_kind;

/* The number of elements of an operand. Columns are output channels. Only ADD and MULTIPLY take
 * PER_ELEMENT and KEPT. */
typedef enum {
    DF_FINISH_ONE, DF_FINISH_PER_COLUMN, DF_FINISH_PER_ELEMENT, DF_FINISH_KEPT,
} df_finish_operand;

#define DF_FINISH_MAX 8

typedef struct {
    df_finish_kind kind;
    df_finish_operand operand;
    int input; /* of the call, where `data` comes from; -1: unused */
    const void *data;
} df_finish_step;

typedef struct {
    int n;
    df_finish_step steps[DF_FINISH_MAX];
} df_finish;

/* True for functions that kernels compute from memory, since they need many registers. */
static inline bool df_finish_maps(df_finish_kind kind)
{
    return kind == DF_FINISH_SIGMOID || kind == DF_FINISH_SILU || kind == DF_FINISH_SWISH;
}

/* `piece` (may be NULL) is called with `context`. Kernels that can apply `finish` (may be NULL),
 * which has the same effect, do not call it. */
typedef struct {
    df_gemm_epilogue piece;
    const void *context;
    const df_finish *finish;
} df_product_epilogue;

#endif
