/* Runs prepared clusters (plan.h): block by block, tile by tile, action by action. */
#include "fuse/run.h"
#include "fuse/plan.h"
#include "base/thread.h"
#include "simd/lanes.h"

#include <stdatomic.h>
#include <string.h>

#define STACK_SCRATCH 49152 /* bytes of slots and registers on the stack; more are allocated */
#define FEW_OUTPUTS 64

typedef struct {
    const df_cluster *c;
    const df_call *call;
    const bool *direct; /* per output: the step writes it, no copy at the end of the tile */
    char *parts;        /* of COLUMN steps */
    atomic_bool failed; /* out of memory for the registers of a block */
} run;

static bool overlap(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* True if an output may be written while its tile is computed: it shares no memory with an input
 * that a later step reads in place. */
static bool writes_directly(const df_cluster *c, const df_call *call, int i)
{
    const df_cluster_output *o = &c->outputs[i];
    if (!o->checked) return o->first || o->space == DF_SPACE_COLUMN;
    const df_tensor *out = call->out[i];
    for (int32_t k = 0; k < c->n_walking; k++) {
        const df_cluster_load *load = &c->loads[c->walking[k]];
        const df_tensor *in = call->in[load->input];
        if (load->operand.mode == DF_DIRECT && load->last_use > o->step &&
            overlap(out->data, df_tensor_bytes(out), in->data, df_tensor_bytes(in)))
            return false;
    }
    return true;
}

static const void *load(const run *r, const df_cluster_load *l, int64_t begin, int64_t units,
                        void *const *at)
{
    const char *data = r->call->in[l->input]->data;
    const int64_t first = df_cluster_elements(r->c, l->space, begin);
    if (l->in_place) return data;
    if (l->operand.mode == DF_DIRECT) return data + first * l->operand.bytes;
    return df_operand_load(&l->operand, data, first, df_cluster_elements(r->c, l->space, units),
                           at[l->buffer]);
}

/* Repeats each of n elements `length` times. */
#define TEMPLATE "fuse/expand.h"
#define DTYPE i32
#include TEMPLATE
#undef DTYPE
#define DTYPE i64
#include TEMPLATE
#undef DTYPE
#undef TEMPLATE
static void expand(char *to, const char *from, int bytes, int64_t n, int64_t length)
{
    if (bytes == 4) expand_i32((int32_t *)to, (const int32_t *)from, n, length);
    else if (bytes == 8) expand_i64((int64_t *)to, (const int64_t *)from, n, length);
    else
        for (int64_t i = 0; i < n; i++)
            df_fill(to + i * length * bytes, from + i * bytes, bytes, length);
}

/* Runs a tile function on each of n rows; one operand has one element per row. */
static inline void do_rows(const df_cluster_action *a, int64_t n, int64_t length, void *const *at)
{
    const int64_t row = length * a->bytes;
    const int64_t step[2] = {a->one == 0 ? a->bytes : row, a->one == 1 ? a->bytes : row};
    for (int64_t i = 0; i < n; i++) {
        const void *in[DF_TILE_MAX_IN] = {(const char *)at[a->in[0]] + i * step[0],
                                          (const char *)at[a->in[1]] + i * step[1]};
        a->fn.tile(length, (char *)at[a->out] + i * row, in, a->attrs);
    }
}

/* Prefetching: a few lines of the next tile's streams before each action of this tile. Without it
 * the first and last actions wait for memory, and the actions between leave it idle. GELU of 16 M
 * floats, written by hand, took one thread 10.2 ms without, 7.2 ms with prefetching. */
#define LINE 64
#define ROWS_AHEAD 2 /* in a piece of separate rows, as one row takes too little time */
typedef struct {
    int64_t distance, units; /* from the begin of a tile to the memory to fetch; amount to fetch */
} coming;

typedef struct {
    const df_cluster *c;
    coming to;
    int32_t stream;
    int64_t line, lines; /* position in this stream; lines before each action */
} ahead;

static ahead start_ahead(const df_cluster *c, bool wanted, coming to)
{
    if (!wanted || c->n_streams == 0) return (ahead){.c = c, .stream = c->n_streams};
    const int64_t lines = df_ceil_div(c->tile_stream_bytes / c->tile * to.units, LINE);
    return (ahead){.c = c, .to = to, .lines = df_ceil_div(lines, c->n_actions)};
}

static inline void fetch_ahead(ahead *a, void *const *at)
{
    const df_cluster_stream *s = &a->c->streams[a->stream];
    const int64_t unit = s->tile_bytes / a->c->tile, all = unit * a->to.units;
    const char *next = (const char *)at[s->slot] + unit * a->to.distance;
    const int64_t end = df_min(a->line + a->lines * LINE, all);
    if (s->slot < a->c->n_loads)
        for (; a->line < end; a->line += LINE) __builtin_prefetch(next + a->line, 0);
    else
        for (; a->line < end; a->line += LINE) __builtin_prefetch(next + a->line, 1);
    if (end == all) a->line = 0, a->stream++;
}

static void run_tile(const run *r, int64_t begin, int64_t units, coming to, void **at)
{
    const df_cluster *c = r->c;
    if (c->fn) {
        c->fn(units, at, c->calls);
        return;
    }
    const int64_t n[2] = {units * c->row_length, units};
    const df_cluster_action *end = c->actions + c->n_actions;
    const bool wanted = c->n_units - begin >= to.distance + to.units &&
                        (c->prefetches || to.distance != c->tile);
    ahead next = start_ahead(c, wanted, to);
    for (const df_cluster_action *a = c->actions; a < end; a++) {
        if (next.stream < c->n_streams) fetch_ahead(&next, at);
        if (a->kind == DF_DO_TILE) {
            const void *in[DF_TILE_MAX_IN] = {at[a->in[0]], at[a->in[1]], at[a->in[2]],
                                              at[a->in[3]]};
            a->fn.tile(n[a->space], at[a->out], in, a->attrs);
        } else if (a->kind == DF_DO_ROWS) {
            do_rows(a, units, c->row_length, at);
        } else if (a->kind == DF_DO_REDUCE) {
            a->fn.reduce(units, c->row_length, at[a->out], at[a->in[0]]);
        } else if (a->kind == DF_DO_EXPAND) {
            expand(at[a->out], at[a->in[0]], a->bytes, units, c->row_length);
        } else {
            at[a->out] = (void *)load(r, &c->loads[a->fn.load], begin, units, at);
        }
    }
}

/* Loads the repeated inputs for the tiles from `begin` on; their content is the same in each
 * tile. */
static void load_periodic(const run *r, int64_t begin, int64_t units, void **at)
{
    const df_cluster *c = r->c;
    for (int32_t i = 0; i < c->n_periodic; i++) {
        const int32_t k = c->periodic[i];
        at[k] = (void *)load(r, &c->loads[k], begin, df_min(c->tile, units), at);
    }
}

/* The stored operand of a COLUMN step, `from` units after the start of the item. */
static void *operand_at(const df_cluster *c, const df_cluster_column *f, void **at, int64_t from)
{
    return (char *)at + f->offset + from * c->row_length * f->bytes;
}

static void keep_written(const df_cluster *c, void **at, int64_t from)
{
    for (const df_cluster_column *f = c->columns; f < c->columns + c->n_columns; f++)
        if (f->written) at[f->slot] = operand_at(c, f, at, from);
}

static void keep_copies(const df_cluster *c, void **at, int64_t from, int64_t units)
{
    for (const df_cluster_column *f = c->columns; f < c->columns + c->n_columns; f++)
        if (f->output < 0 && !f->written && f->same == f - c->columns)
            memcpy(operand_at(c, f, at, from), at[f->slot],
                   (size_t)(units * c->row_length * f->bytes));
}

static void run_tiles(const run *r, int64_t begin, int64_t end, coming to, void **at)
{
    const df_cluster *c = r->c;
    void **outputs = at + c->n_loads;
    for (int64_t u = begin; u < end; u += c->tile) {
        const int64_t units = df_min(c->tile, end - u);
        for (int32_t i = 0; i < c->n_walking; i++)
            at[c->walking[i]] = (void *)load(r, &c->loads[c->walking[i]], u, units, at);
        for (int32_t i = 0; i < c->n_outputs; i++) {
            const df_cluster_output *o = &c->outputs[i];
            if (o->space == DF_SPACE_COLUMN) continue;
            outputs[i] = (char *)r->call->out[i]->data +
                         df_cluster_elements(c, o->space, u) * o->bytes;
            if (o->first && !r->direct[i]) outputs[i] = at[o->from];
        }
        keep_written(c, at, u - begin);
        run_tile(r, u, units, to, at);
        keep_copies(c, at, u - begin, units);
        for (int32_t i = 0; i < c->n_outputs; i++) {
            const df_cluster_output *o = &c->outputs[i];
            if (r->direct[i]) continue;
            memcpy((char *)r->call->out[i]->data + df_cluster_elements(c, o->space, u) * o->bytes,
                   at[o->from], (size_t)(df_cluster_elements(c, o->space, units) * o->bytes));
        }
    }
}

/* `n` units from `begin` on, repeated `count` times, `step` units apart. */
typedef struct {
    int64_t begin, n, count, step;
} piece;

/* True if every repeated input has the same content `step` units further on. */
static bool keeps_phase(const df_cluster *c, int64_t step)
{
    for (int32_t i = 0; i < c->n_periodic; i++) {
        const df_cluster_load *l = &c->loads[c->periodic[i]];
        if (df_cluster_elements(c, l->space, step) % l->operand.period != 0) return false;
    }
    return true;
}

/* Points the slots of registers into the scratch memory, which begins with the slots. */
static void place(const df_cluster *c, char *scratch)
{
    void **registers = (void **)scratch + c->n_loads + c->n_outputs;
    for (int32_t i = 0; i < c->n_registers; i++) registers[i] = scratch + c->offsets[i];
}

static void run_piece_in(const run *r, const piece *p, char *scratch)
{
    const df_cluster *c = r->c;
    void **at = (void **)scratch;
    place(c, scratch);
    const bool once = p->count == 1 || keeps_phase(c, p->step);
    const coming to = p->count == 1 ? (coming){c->tile, c->tile}
                                    : (coming){ROWS_AHEAD * p->step, df_min(p->n, c->tile)};
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t begin = p->begin + i * p->step;
        if (i == 0 || !once) load_periodic(r, begin, p->n, at);
        run_tiles(r, begin, begin + p->n, to, at);
    }
}

static void run_piece(run *r, const piece *p)
{
    if (r->c->scratch_bytes <= STACK_SCRATCH) {
        char scratch[STACK_SCRATCH] __attribute__((aligned(DF_ALIGNMENT)));
        run_piece_in(r, p, scratch);
        return;
    }
    df_buffer *scratch = df_buffer_new(r->c->scratch_bytes);
    if (scratch) run_piece_in(r, p, scratch->data);
    else atomic_store(&r->failed, true);
    df_buffer_release(scratch);
}

static void run_block(void *context, int64_t begin, int64_t end)
{
    run_piece(context, &(piece){.begin = begin, .n = end - begin, .count = 1});
}

/* --- COLUMN steps --- */

/* Computes the parts of `rows` rows, from row `from` of a chunk on. */
static void make_parts(const df_column_reduction *f, const df_cluster_column *column, const char *x,
                       int64_t from,
                       int64_t rows, char *parts)
{
    const int64_t row = f->inner * column->bytes;
    if (f->inner == 1) {
        column->reducer->row(1, rows, parts, x);
        return;
    }
    parts += from / DF_COLUMN_ROWS * row;
    for (; rows >= DF_COLUMN_ROWS; rows -= DF_COLUMN_ROWS, x += DF_COLUMN_ROWS * row, parts += row)
        column->reducer->part(DF_COLUMN_ROWS, f->inner, f->inner, parts, x);
    for (; rows > 0; rows--, x += row, parts += row)
        column->reducer->part(1, f->inner, f->inner, parts, x);
}

static void run_item(const run *r, int64_t item, void **at, int64_t *phase)
{
    const df_cluster *c = r->c;
    const df_column_reduction *f = &c->column;
    const int64_t n_items = df_ceil_div(f->chunk, c->column_rows), chunks = item / n_items;
    const int64_t from = item % n_items * c->column_rows, chunk = chunks % f->n_chunks * f->chunk;
    const int64_t rows = df_min(c->column_rows, df_min(f->chunk, f->n - chunk) - from);
    if (rows <= 0) return;
    const int64_t first = (chunks / f->n_chunks * f->n + chunk + from) * f->inner;
    const int64_t begin = first / c->row_length, units = rows * f->inner / c->row_length;
    if (*phase < 0 || !keeps_phase(c, begin - *phase)) {
        load_periodic(r, begin, c->tile, at);
        *phase = begin;
    }
    run_tiles(r, begin, begin + units, (coming){c->tile, c->tile}, at);
    for (int32_t i = 0; i < c->n_columns; i++) {
        const df_cluster_column *column = &c->columns[i];
        const char *x = column->output < 0 ? (char *)at + column->offset
                                         : (char *)r->call->out[column->output]->data +
                                               first * column->bytes;
        make_parts(f, column, x, from, rows,
                   r->parts + column->parts + chunks * f->n_parts * f->inner * column->bytes);
    }
}

static void run_items(void *context, int64_t begin, int64_t end)
{
    run *r = context;
    const df_cluster *c = r->c;
    char few[STACK_SCRATCH] __attribute__((aligned(DF_ALIGNMENT)));
    df_buffer *many = NULL;
    char *scratch = few;
    if (c->scratch_bytes > STACK_SCRATCH) {
        many = df_buffer_new(c->scratch_bytes);
        if (!many) {
            atomic_store(&r->failed, true);
            return;
        }
        scratch = many->data;
    }
    void **at = (void **)scratch;
    place(c, scratch);
    int64_t phase = -1;
    for (int64_t i = begin; i < end; i++) run_item(r, i, at, &phase);
    df_buffer_release(many);
}

static df_status run_columns(run *r, df_error *err)
{
    const df_cluster *c = r->c;
    const df_column_reduction *f = &c->column;
    df_buffer *parts = df_buffer_new(df_cluster_columns_bytes(c));
    if (!parts)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes of partial results",
                       r->call->op->name, (long long)c->parts_bytes);
    r->parts = parts->data;
    const int64_t units = c->column_rows * f->inner / c->row_length;
    df_parallel_for(c->n_items, df_max(c->grain / df_max(units, 1), 1), c->cost * (double)units,
                    run_items, r);
    if (!atomic_load(&r->failed)) df_cluster_finish_columns(c, r->call, parts->data);
    df_buffer_release(parts);
    return DF_OK;
}

static df_status fail_scratch(const run *r, df_error *err)
{
    return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes of registers",
                   r->call->op->name, (long long)r->c->scratch_bytes);
}

/* `few` has FEW_OUTPUTS entries; for more outputs `many` is allocated, which the caller
 * releases. */
static df_status find_direct(run *r, bool *few, df_buffer **many, df_error *err)
{
    bool *direct = few;
    *many = NULL;
    if (r->c->n_outputs > FEW_OUTPUTS) {
        *many = df_buffer_new(r->c->n_outputs);
        if (!*many)
            return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %d outputs",
                           r->call->op->name, r->c->n_outputs);
        direct = (*many)->data;
    }
    for (int i = 0; i < r->c->n_outputs; i++) direct[i] = writes_directly(r->c, r->call, i);
    r->direct = direct;
    return DF_OK;
}

/* Returns the cluster prepared for compiled code, once there is one. */
static const df_cluster *newest(const df_cluster *c)
{
    const df_cluster *compiled = atomic_load_explicit(&c->compiled, memory_order_acquire);
    return compiled ? compiled : c;
}

df_status DF_SYM(df_cluster_run)(const df_cluster *c, const df_call *call, df_error *err)
{
    c = newest(c);
    bool few[FEW_OUTPUTS];
    df_buffer *many;
    run r = {.c = c, .call = call};
    df_status status = find_direct(&r, few, &many, err);
    if (status != DF_OK) return status;
    if (c->n_columns > 0) status = run_columns(&r, err);
    else if (c->n_units > c->grain) df_parallel_for(c->n_units, c->grain, c->cost, run_block, &r);
    else if (c->n_units > 0) run_block(&r, 0, c->n_units);
    df_buffer_release(many);
    return atomic_load(&r.failed) ? fail_scratch(&r, err) : status;
}

df_status DF_SYM(df_cluster_run_part)(const df_cluster *c, const df_call *call, int64_t begin,
                                      int64_t n, int64_t count, int64_t step, df_error *err)
{
    c = newest(c);
    bool few[FEW_OUTPUTS];
    df_buffer *many;
    run r = {.c = c, .call = call};
    df_status status = find_direct(&r, few, &many, err);
    if (status != DF_OK) return status;
    run_piece(&r, &(piece){begin, n, count, step});
    df_buffer_release(many);
    return atomic_load(&r.failed) ? fail_scratch(&r, err) : DF_OK;
}
