/* Column reductions of clusters: division into items, parts of data that arrive piecewise, final
 * results. */
#include "fuse/plan.h"

#include "base/thread.h"

#define ITEM 4096 /* elements, at least: several tiles */

static int64_t round_up(int64_t bytes) { return (bytes + DF_ALIGNMENT - 1) & -DF_ALIGNMENT; }

bool df_cluster_folds(const df_cluster *c) { return c->n_folds > 0; }

/* An item of several rows consists of whole parts, except the last; a chunk of one row is one
 * item. */
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

int64_t df_cluster_fold_bytes(const df_cluster *c)
{
    const df_fold *f = &c->fold;
    const int64_t results = f->outer * f->n_chunks * f->inner * (int64_t)sizeof(double);
    return c->parts_bytes + (f->n_chunks > 1 ? 3 * results : 0);
}

void df_cluster_finish_folds(const df_cluster *c, const df_call *call, void *parts)
{
    char *all = parts;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (c->outputs[i].space != DF_SPACE_FOLD) continue;
        const df_cluster_fold *fold = &c->folds[c->outputs[i].fold];
        fold->folder->finish(&c->fold, all + fold->parts, call->out[i]->data,
                             all + c->parts_bytes);
    }
}

/* --- piecewise execution --- */

bool df_cluster_folds_rows(const df_cluster *c, int64_t inner)
{
    bool of_outputs = c->fold.outer == 1 && c->fold.inner == inner && inner > 1;
    for (int32_t i = 0; i < c->n_folds; i++) of_outputs = of_outputs && c->folds[i].output >= 0;
    return of_outputs;
}

/* Computes the parts of `rows` rows from `row` on, columns [col, col + cols). Parts are numbered
 * within a chunk: first those of DF_FOLD_ROWS rows, then those of the remaining single rows. */
static bool fold_rows(const df_cluster *c, const df_call *call, int64_t row, int64_t rows,
                      int64_t col, int64_t cols, char *parts)
{
    const df_fold *f = &c->fold;
    for (const int64_t end = row + rows; row < end;) {
        const int64_t chunk = row / f->chunk, at = row % f->chunk;
        const int64_t eights = df_min(f->chunk, f->n - chunk * f->chunk) / DF_FOLD_ROWS;
        const bool single = at >= eights * DF_FOLD_ROWS;
        const int64_t n = single ? 1 : DF_FOLD_ROWS;
        if (at % n || n > end - row) return false;
        const int64_t part = single ? eights + at - eights * DF_FOLD_ROWS : at / DF_FOLD_ROWS;
        const int64_t to = (chunk * f->n_parts + part) * f->inner + col;
        for (const df_cluster_fold *fold = c->folds; fold < c->folds + c->n_folds; fold++) {
            const char *x = call->out[fold->output]->data;
            fold->folder->part(n, cols, f->inner, parts + fold->parts + to * fold->bytes,
                               x + (row * f->inner + col) * fold->bytes);
        }
        row += n;
    }
    return true;
}

bool df_cluster_fold_piece(const df_cluster *c, const df_call *call, int64_t begin, int64_t n,
                           int64_t count, void *parts)
{
    const int64_t inner = c->fold.inner, row = begin / inner, col = begin % inner;
    if (count == 1 && n > inner)
        return n % inner == 0 && fold_rows(c, call, row, n / inner, col, inner, parts);
    return fold_rows(c, call, row, count, col, n, parts);
}

typedef struct {
    const df_cluster *c;
    const df_call *call;
    char *parts;
} folding;

static void fold_task(void *context, int64_t begin, int64_t end)
{
    const folding *f = context;
    const df_fold *fold = &f->c->fold;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t row = chunk * fold->chunk;
        fold_rows(f->c, f->call, row, df_min(fold->chunk, fold->n - row), 0, fold->inner,
                  f->parts);
    }
}

void df_cluster_fold_all(const df_cluster *c, const df_call *call, void *parts)
{
    folding f = {c, call, parts};
    df_parallel_for(c->fold.n_chunks, 1, 0.1 * (double)(c->fold.chunk * c->fold.inner), fold_task,
                    &f);
}
