/* Products of bfloat16 in tiles of registers (AMX): sixteen rows of sums at a time. */
#ifndef DF_GEMM_TILES_H
#define DF_GEMM_TILES_H

#include "gemm/gemm.h"

/* Whether this CPU has them, the system allows them, and the product is worth it. Depends on sizes
 * alone in a process. */
bool DF_SYM(df_tiles_apply)(const df_gemm *g);

/* All of B, see df_gemm_pack. */
int64_t DF_SYM(df_tiles_packed_bytes)(const df_gemm *g);
void DF_SYM(df_tiles_pack)(const df_gemm *g, void *packed);

/* One product, no batch, k > 0; otherwise like the functions of gemm.h. Its first row is `row` of
 * the batch. */
int64_t DF_SYM(df_tiles_workspace)(const df_gemm *g);
void DF_SYM(df_tiles)(const df_gemm *g, int64_t row, void *workspace);

#endif
