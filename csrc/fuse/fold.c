/* How clusters with folds are cut into items. */
#include "fuse/plan.h"

#define ITEM 4096 /* elements, at least: several tiles */

static int64_t round_up(int64_t bytes) { return (bytes + DF_ALIGNMENT - 1) & -DF_ALIGNMENT; }

bool df_cluster_folds(const df_cluster *c) { return c->n_folds > 0; }

/* Items of chunks of rows are whole parts, except for the last; chunks of one row are one item. */
void df_cluster_place_folds(df_cluster *c)
{
    df_fold *f = &c->fold;
    c->folds[0].folder->cut(f);
    const int64_t eight = DF_FOLD_ROWS * f->inner;
    c->fold_rows = f->inner == 1 ? f->chunk : DF_FOLD_ROWS * df_ceil_div(ITEM, eight);
    c->fold_rows = df_min(c->fold_rows, f->chunk);
    c->n_items = f->outer * f->n_chunks * df_ceil_div(f->chunk, c->fold_rows);
    const int64_t parts = f->outer * f->n_chunks * f->n_parts * f->inner;
    for (int32_t i = 0; i < c->n_folds; i++) {
        df_cluster_fold *fold = &c->folds[i];
        fold->written = fold->output < 0 && fold->slot >= c->n_loads + c->n_outputs;
        fold->offset = fold->same < i ? c->folds[fold->same].offset : c->scratch_bytes;
        if (fold->output < 0 && fold->same == i)
            c->scratch_bytes += round_up(c->fold_rows * f->inner * fold->bytes);
        fold->parts = c->parts_bytes;
        c->parts_bytes += round_up(parts * fold->bytes);
    }
}
