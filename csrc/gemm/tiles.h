/* Products of bfloat16 in tile registers (AMX). */
#ifndef DF_GEMM_TILES_H
#define DF_GEMM_TILES_H

#include "gemm/gemm.h"

/* True if this CPU has AMX, the system permits it, and the product is large enough. Within a
 * process the result depends only on the sizes. */
bool DF_SYM(df_tiles_apply)(const df_gemm *g);

/* Packs all of B, see df_gemm_pack. */
int64_t DF_SYM(df_tiles_packed_bytes)(const df_gemm *g);
void DF_SYM(df_tiles_pack)(const df_gemm *g, void *packed);

/* One product without a batch, k > 0; otherwise like the functions of gemm.h. `row` is its first
 * row in the batch. */
int64_t DF_SYM(df_tiles_workspace)(const df_gemm *g);
void DF_SYM(df_tiles)(const df_gemm *g, int64_t row, void *workspace);

#endif
