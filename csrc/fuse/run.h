/* Runs clusters (cluster.h). Compiled once per SIMD level. */
#ifndef DF_FUSE_RUN_H
#define DF_FUSE_RUN_H

#include "fuse/cluster.h"

/* Runs the cluster on the inputs and outputs of the call. */
df_status DF_SYM(df_cluster_run)(const df_cluster *c, const df_call *call, df_error *err);
/* Runs n elements of the iteration shape from `begin` on, `count` times, `step` elements apart, on
 * the calling thread. row_length must be 1. For callers whose data are computed piecewise. */
df_status DF_SYM(df_cluster_run_part)(const df_cluster *c, const df_call *call, int64_t begin,
                                      int64_t n, int64_t count, int64_t step, df_error *err);

#endif
