/* Elementwise calls: operands are loaded tile by tile (broadcasting happens here and nowhere
 * else), the op's tile function runs on dense L1-sized arrays, results are stored. */
#ifndef DF_TILE_H
#define DF_TILE_H

#include "op/op.h"

#define DF_TILE 1024 /* elements; measured best at 512 to 1,024 */
#define DF_TILE_MAX_IN 4

/* The tile function of a call, or NULL with no error set where its dtype has none. */
df_tile_fn df_tile_select(const df_call *call);
df_status df_tile_run(const df_call *call, df_error *err);

#endif
