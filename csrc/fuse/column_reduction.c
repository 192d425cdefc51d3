/* Column reductions of clusters: division into items, parts of data that arrive piecewise, final
 * results. */
#include "fuse/plan.h"

#include "base/thread.h"

#define ITEM 4096 /* elements, at least: several tiles */

static int64_t round_up(int64_t bytes) { return (bytes + DF_ALIGNMENT - 1) & -DF_ALIGNMENT; }

bool df_cluster_has_columns(const df_cluster *c) { return c->n_columns > 0; }

/* An item of several rows consists of whole parts, except the last; a chunk of one row is one
 * item. */
void df_cluster_plan_columns(df_cluster *c)
{
    df_column_reduction *f = &c->column;
    c->columns[0].reducer->cut(f);
    const int64_t eight = DF_COLUMN_ROWS * f->inner;
    c->column_rows = f->inner == 1 ? f->chunk : DF_COLUMN_ROWS * df_ceil_div(ITEM, eight);
    c->column_rows = df_min(c->column_rows, f->chunk);
    c->n_items = f->outer * f->n_chunks * df_ceil_div(f->chunk, c->column_rows);
    const int64_t parts = f->outer * f->n_chunks * f->n_parts * f->inner;
    for (int32_t i = 0; i < c->n_columns; i++) {
        df_cluster_column *column = &c->columns[i];
        column->written = column->output < 0 && column->slot >= c->n_loads + c->n_outputs;
        column->offset = column->same < i ? c->columns[column->same].offset : c->scratch_bytes;
        if (column->output < 0 && column->same == i)
            c->scratch_bytes += round_up(c->column_rows * f->inner * column->bytes);
        column->parts = c->parts_bytes;
        c->parts_bytes += round_up(parts * column->bytes);
    }
}

int64_t df_cluster_columns_bytes(const df_cluster *c)
{
    const df_column_reduction *f = &c->column;
    const int64_t results = f->outer * f->n_chunks * f->inner * (int64_t)sizeof(double);
    return c->parts_bytes + (f->n_chunks > 1 ? 3 * results : 0);
}

void df_cluster_finish_columns(const df_cluster *c, const df_call *call, void *parts)
{
    char *all = parts;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (c->outputs[i].space != DF_SPACE_COLUMN) continue;
        const df_cluster_column *column = &c->columns[c->outputs[i].column];
        column->reducer->finish(&c->column, all + column->parts, call->out[i]->data,
                                all + c->parts_bytes);
    }
}

/* --- piecewise execution --- */

bool df_cluster_sums_rows(const df_cluster *c, int64_t inner)
{
    bool of_outputs = c->column.outer == 1 && c->column.inner == inner && inner > 1;
    for (int32_t i = 0; i < c->n_columns; i++) of_outputs = of_outputs && c->columns[i].output >= 0;
    return of_outputs;
}

/* Computes the parts of `rows` rows from `row` on, columns [col, col + cols). Parts are numbered
 * within a chunk: first those of DF_COLUMN_ROWS rows, then those of the remaining single rows. */
static bool column_rows(const df_cluster *c, const df_call *call, int64_t row, int64_t rows,
                        int64_t col, int64_t cols, char *parts)
{
    const df_column_reduction *f = &c->column;
    for (const int64_t end = row + rows; row < end;) {
        const int64_t chunk = row / f->chunk, at = row % f->chunk;
        const int64_t eights = df_min(f->chunk, f->n - chunk * f->chunk) / DF_COLUMN_ROWS;
        const bool single = at >= eights * DF_COLUMN_ROWS;
        const int64_t n = single ? 1 : DF_COLUMN_ROWS;
        if (at % n || n > end - row) return false;
        const int64_t part = single ? eights + at - eights * DF_COLUMN_ROWS : at / DF_COLUMN_ROWS;
        const int64_t to = (chunk * f->n_parts + part) * f->inner + col;
        for (const df_cluster_column *column = c->columns; column < c->columns + c->n_columns;
             column++) {
            const char *x = call->out[column->output]->data;
            column->reducer->part(n, cols, f->inner, parts + column->parts + to * column->bytes,
                                  x + (row * f->inner + col) * column->bytes);
        }
        row += n;
    }
    return true;
}

bool df_cluster_columns_piece(const df_cluster *c, const df_call *call, int64_t begin, int64_t n,
                              int64_t count, void *parts)
{
    const int64_t inner = c->column.inner, row = begin / inner, col = begin % inner;
    if (count == 1 && n > inner)
        return n % inner == 0 && column_rows(c, call, row, n / inner, col, inner, parts);
    return column_rows(c, call, row, count, col, n, parts);
}

typedef struct {
    const df_cluster *c;
    const df_call *call;
    char *parts;
} column_job;

static void column_task(void *context, int64_t begin, int64_t end)
{
    const column_job *f = context;
    const df_column_reduction *column = &f->c->column;
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const int64_t row = chunk * column->chunk;
        column_rows(f->c, f->call, row, df_min(column->chunk, column->n - row), 0, column->inner,
                    f->parts);
    }
}

void df_cluster_columns_all(const df_cluster *c, const df_call *call, void *parts)
{
    column_job f = {c, call, parts};
    df_parallel_for(c->column.n_chunks, 1, 0.1 * (double)(c->column.chunk * c->column.inner),
                    column_task,
                    &f);
}
