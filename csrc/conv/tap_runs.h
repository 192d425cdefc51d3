/* Which results of a depthwise convolution have which taps, along one dimension. Compiled once per
 * SIMD level. */
#ifndef DF_CONV_TAP_RUNS_H
#define DF_CONV_TAP_RUNS_H

#include "conv/conv.h"

#define DF_LONGEST_RUN 128 /* results, plus edges: terms of a sum in a register */

/* Results along a dimension that differ by multiples of `step`, with the taps and sources that may
 * exist: result i, tap j has source  source + i * next + j * tap_next,  which must be in [0, size).
 * Both steps between sources are positive. */
typedef struct {
    int64_t first, step, count;
    int64_t tap, tap_step, n_taps;
    int64_t source, next, tap_next, size;
} df_tap_sweep;

/* Consecutive results with the same taps, and the sources of the first result, along one dimension.
 * The results at `left` and `right` may lack taps. */
typedef struct {
    int64_t result, count, tap, n_taps, source, left, right;
} df_tap_run;

df_tap_sweep DF_SYM(df_forward_sweep)(const df_conv *c, int d);

/* Elements first, first + stride, ... of the input: their taps are the t for which first + pad - t
 * * dilation is a multiple of the stride, in descending order, so that sources ascend. */
df_tap_sweep DF_SYM(df_input_sweep)(const df_conv *c, int d, int64_t first);

/* Result i of a sweep, and its taps that have a source. */
df_tap_run DF_SYM(df_tap_run_at)(const df_tap_sweep *s, int64_t i);

/* Finds the runs of a sweep and returns their number. */
int64_t DF_SYM(df_find_runs)(const df_tap_sweep *s, df_tap_run *runs);

/* Merges runs of `taps` taps with the adjacent results that lack the first or the last ones, at
 * most half: some taps of one result take as long as all taps of several results. Returns the
 * number of runs left. */
int64_t DF_SYM(df_join_edges)(const df_tap_sweep *s, df_tap_run *runs, int64_t n, int64_t taps);

#endif
