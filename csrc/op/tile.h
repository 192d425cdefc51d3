/* Elementwise calls: loads operands tile by tile with broadcasting, runs the op's tile function on
 * dense L1-sized arrays and stores the results. */
#ifndef DF_TILE_H
#define DF_TILE_H

#include "op/op.h"

#define DF_TILE 1024 /* elements; 512 to 1,024 measured best */
#define DF_TILE_MAX_IN 4

/* Estimated ns per output element: the record's cost, or that of a cheap op, for float32. Functions
 * of complex numbers take about ten times as long. */
static inline double df_tile_cost(const df_op *op, df_dtype dtype)
{
    return (op->cost > 0 ? op->cost : 0.2) * (df_is_complex(dtype) ? 10 : 1);
}

/* The tile function of a call; NULL, without an error, if its dtype has none. */
df_tile_fn df_tile_select(const df_call *call);
df_status df_tile_run(const df_call *call, df_error *err);

#endif
