/* Runs clusters (cluster.h). Compiled once per SIMD level. */
#ifndef DF_FUSE_RUN_H
#define DF_FUSE_RUN_H

#include "fuse/cluster.h"

/* Runs over the data of the call's inputs and outputs. */
df_status DF_SYM(df_cluster_run)(const df_cluster *c, const df_call *call, df_error *err);
/* Runs n elements of the iteration shape from `begin` on, `count` times at distance `step`, on the
 * calling thread, where rows have one element: for callers whose data come piece by piece. */
df_status DF_SYM(df_cluster_run_part)(const df_cluster *c, const df_call *call, int64_t begin,
                                      int64_t n, int64_t count, int64_t step, df_error *err);

#endif
