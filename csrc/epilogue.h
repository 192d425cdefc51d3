/* Elementwise steps run over pieces of a matrix product while they are in cache: what is behind the
 * op matmul_cluster. The steps are tile code (cluster.h) in which nothing is folded; value 0 is the
 * product, then come the further inputs, each of the product's shape, one row, one column or one
 * element. Knows no op by name. */
#ifndef DF_EPILOGUE_H
#define DF_EPILOGUE_H

#include "op.h"

typedef struct df_epilogue df_epilogue;

/* Decodes `code` for a product like `product` and inputs [first, n_in) of `call`; checks all of it.
 * Dimensions may be unknown; then it can only be asked for its dtype. */
df_status df_epilogue_new(const df_call *call, int first, df_ints code, const df_tensor *product,
                          df_epilogue **out, df_error *err);
void df_epilogue_free(df_epilogue *e);
df_dtype df_epilogue_dtype(const df_epilogue *e);

/* One run: where the inputs and the output are; `columns` of a whole row. */
typedef struct {
    const df_epilogue *epilogue;
    const df_call *call;
    char *out;
    int64_t columns;
} df_epilogue_run;

/* Is a df_gemm_epilogue, with a df_epilogue_run as its context. C may be the output's memory. */
void df_epilogue_block(const void *run, int64_t row, int64_t rows, int64_t col0, int64_t cols,
                       void *c, int64_t ldc);

#endif
