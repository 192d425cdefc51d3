/* Decoded tile code: read once, every index checked, dtypes inferred. Independent of tiles and
 * registers. Internal to this folder. */
#ifndef DF_FUSE_CODE_H
#define DF_FUSE_CODE_H

#include "fuse/cluster.h"
#include "op/tile.h"

typedef struct {
    const df_op *op;
    df_space space;
    df_dtype dtype; /* of the result */
    bool reduces;
    int n_in;
    const int64_t *in; /* operand values; points into the code, which lives as long as the call */
    int one;           /* set by the planner: operand that is one element, or one per row; or -1 */
    bool one_per_row;
    union {
        df_tile_fn tile;
        df_reduce_fn reduce;
        const df_column_reducer *reducer;
    } fn;
    df_attr *attrs; /* op->n_attrs entries in df_cluster_code.attrs */
} df_cluster_step;

typedef struct {
    int64_t row_length;
    int n_in, n_out;
    int64_t n_steps, n_attrs;
    df_tensor full, row; /* the shapes of the two spaces */
    bool columns;        /* some step is a COLUMN step; `fold` is its shape */
    df_column_reduction column;
    df_cluster_step *steps;
    df_attr *attrs;
    const int64_t *out; /* output values */
    uint8_t *read_in;   /* per input: bit DF_SPACE_FULL or DF_SPACE_ROW */
} df_cluster_code;

/* Reads and checks the code of a call whose inputs have dtypes and shapes. On failure the code need
 * not be cleared. */
df_status df_cluster_read(const df_call *call, df_cluster_code *code, df_error *err);
void df_cluster_code_clear(df_cluster_code *code);

#endif
