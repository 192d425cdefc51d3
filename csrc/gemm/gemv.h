/* Products in which op(A) is one row or op(B) one column; their time is that of reading the
 * matrix. */
#ifndef DF_GEMV_H
#define DF_GEMV_H

#include "gemm/gemm.h"

static inline bool df_gemv_applies(const df_gemm *g) { return g->m == 1 || g->n == 1; }

/* One product without a batch, k > 0; otherwise like the functions of gemm.h. `row` is its first
 * row in the batch. */
int64_t DF_SYM(df_gemv_workspace)(const df_gemm *g);
void DF_SYM(df_gemv)(const df_gemm *g, int64_t row, void *workspace);
/* Same for int8 and uint8. */
int64_t DF_SYM(df_gemv_bytes_workspace)(const df_gemm *g);
void DF_SYM(df_gemv_bytes)(const df_gemm *g, int64_t row, void *workspace);

#endif
