/* The tile loader. Knows broadcasting, tails and threads; knows no formula and no op by name.
 *
 * Each operand is described by its collapsed shape: adjacent output dimensions in which it is
 * present, or in which it is repeated, are merged. Most operands collapse to nothing or to one
 * dimension and are read in place; the others are copied into an L1-sized buffer per tile. */
#include "tile.h"
#include "thread.h"

#include <string.h>

#define TILES_PER_BLOCK 16 /* 16 K elements: the unit of work of a thread */
#define CHEAP 0.2          /* ns per element, the record's default */

typedef enum {
    DIRECT,   /* dense and of the output's shape: read in place */
    PERIODIC, /* repeats every `period` elements, tiles are multiples of it: filled once */
    WALK      /* anything else: filled for each tile, or read in place within a run */
} load_mode;

typedef struct {
    const char *data;
    int bytes; /* of an element */
    load_mode mode;
    int64_t period;
    int ndim;                     /* collapsed */
    int64_t extent[DF_MAX_NDIM];  /* collapsed output dimensions */
    int64_t step[DF_MAX_NDIM];    /* elements between neighbours in the operand; 0: repeated */
} operand;

typedef struct {
    df_tile_fn fn;
    const df_attr *attrs;
    char *out;
    int out_bytes;
    int64_t tile; /* elements */
    int n_in;
    operand in[DF_TILE_MAX_IN];
} job;

df_tile_fn df_tile_select(const df_call *call)
{
    const df_op *op = call->op;
    return op->select ? op->select(call) : op->tile[call->in[op->tile_key]->dtype];
}

static void collapse(operand *o, const df_tensor *x, const df_tensor *out)
{
    o->data = x->data;
    o->bytes = df_dtypes[x->dtype].bytes;
    o->ndim = 0;
    int64_t step = 1;
    for (int i = 1; i <= out->ndim; i++) { /* innermost first, reversed below */
        int64_t extent = out->shape[out->ndim - i];
        if (extent == 1) continue;
        bool present = i <= x->ndim && x->shape[x->ndim - i] == extent;
        bool was_present = o->ndim > 0 && o->step[o->ndim - 1] != 0;
        if (o->ndim > 0 && present == was_present) {
            o->extent[o->ndim - 1] *= extent;
        } else {
            o->extent[o->ndim] = extent;
            o->step[o->ndim] = present ? step : 0;
            o->ndim++;
        }
        if (present) step *= extent;
    }
    o->mode = WALK;
    if (o->ndim == 0 || (o->ndim == 1 && o->step[0] != 0)) o->mode = DIRECT;
    else if (o->ndim == 1) o->mode = PERIODIC, o->period = 1;
    else if (o->ndim == 2 && o->step[0] != 0) o->mode = PERIODIC, o->period = o->extent[0];
    for (int i = 0, j = o->ndim - 1; i < j; i++, j--) {
        int64_t e = o->extent[i], s = o->step[i];
        o->extent[i] = o->extent[j], o->step[i] = o->step[j];
        o->extent[j] = e, o->step[j] = s;
    }
}

/* Tiles are a multiple of every period; an operand whose period does not fit walks instead. */
static int64_t choose_tile(job *j)
{
    int64_t unit = 1;
    for (int i = 0; i < j->n_in; i++) {
        operand *o = &j->in[i];
        if (o->mode != PERIODIC) continue;
        int64_t a = unit, b = o->period;
        while (b) { /* greatest common divisor */
            int64_t r = a % b;
            a = b, b = r;
        }
        int64_t multiple = o->period <= DF_TILE ? unit / a * o->period : DF_TILE + 1;
        if (multiple <= DF_TILE) unit = multiple;
        else o->mode = WALK;
    }
    return DF_TILE / unit * unit;
}

static void fill(void *to, const void *value, int bytes, int64_t n)
{
    switch (bytes) {
    case 1: memset(to, *(const uint8_t *)value, (size_t)n); break;
    case 2: for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = *(const uint16_t *)value; break;
    case 4: for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = *(const uint32_t *)value; break;
    default: for (int64_t i = 0; i < n; i++) ((uint64_t *)to)[i] = *(const uint64_t *)value;
    }
}

/* Elements [begin, begin + n) of the operand as the output sees it: in place when one run of a
 * present innermost dimension holds them, else copied to `buffer`. */
static const void *load(const operand *o, int64_t begin, int64_t n, char *buffer)
{
    int64_t index[DF_MAX_NDIM];
    int64_t at = 0, rest = begin;
    int last = o->ndim - 1;
    for (int d = last; d >= 0; d--) {
        index[d] = rest % o->extent[d];
        rest /= o->extent[d];
        at += index[d] * o->step[d];
    }
    if (o->step[last] && index[last] + n <= o->extent[last]) return o->data + at * o->bytes;
    for (int64_t done = 0; done < n;) {
        int64_t run = df_min(o->extent[last] - index[last], n - done);
        const char *from = o->data + at * o->bytes;
        if (o->step[last]) memcpy(buffer + done * o->bytes, from, (size_t)(run * o->bytes));
        else fill(buffer + done * o->bytes, from, o->bytes, run);
        done += run;
        index[last] += run;
        at += run * o->step[last];
        for (int d = last; d > 0 && index[d] == o->extent[d]; d--) { /* carry */
            at += o->step[d - 1] - o->extent[d] * o->step[d];
            index[d] = 0;
            index[d - 1]++;
        }
    }
    return buffer;
}

static void run_block(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    char buffers[DF_TILE_MAX_IN][DF_TILE * 8] __attribute__((aligned(DF_ALIGNMENT)));
    const void *in[DF_TILE_MAX_IN];
    bool all_direct = true;
    for (int i = 0; i < j->n_in; i++) {
        in[i] = buffers[i];
        if (j->in[i].mode == PERIODIC)
            in[i] = load(&j->in[i], begin, df_min(j->tile, end - begin), buffers[i]);
        all_direct &= j->in[i].mode == DIRECT;
    }
    int64_t step = all_direct ? end - begin : j->tile;
    for (int64_t at = begin; at < end; at += step) {
        int64_t n = df_min(step, end - at);
        for (int i = 0; i < j->n_in; i++) {
            const operand *o = &j->in[i];
            if (o->mode == DIRECT) in[i] = o->data + at * o->bytes;
            if (o->mode == WALK) in[i] = load(o, at, n, buffers[i]);
        }
        j->fn(n, j->out + at * j->out_bytes, in, j->attrs);
    }
}

df_status df_tile_run(const df_call *call, df_error *err)
{
    (void)err;
    df_tensor *out = call->out[0];
    if (out->size == 0) return DF_OK;
    job j = {.fn = df_tile_select(call), .attrs = call->attrs, .out = out->data,
             .out_bytes = df_dtypes[out->dtype].bytes, .n_in = call->n_in};
    for (int i = 0; i < call->n_in; i++) collapse(&j.in[i], call->in[i], out);
    j.tile = choose_tile(&j);
    double cost = call->op->cost > 0 ? call->op->cost : CHEAP;
    df_parallel_for(out->size, j.tile * TILES_PER_BLOCK, cost, run_block, &j);
    return DF_OK;
}
