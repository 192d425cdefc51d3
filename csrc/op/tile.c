/* The tile loader: broadcasting, tails and threads for elementwise ops. Knows no op by name. */
#include "op/tile.h"
#include "op/operand.h"
#include "base/stream.h"
#include "base/thread.h"

#define TILES_PER_BLOCK 16 /* 16 K elements: the unit of parallel work */
#define LEAST_RUN 32       /* elements of a run that is worth a call of `tile_scalar` */

typedef struct {
    df_tile_fn fn;
    const df_attr *attrs;
    char *out;
    int out_bytes;
    bool stream;
    int64_t tile; /* elements */
    int n_in;
    const char *data[DF_TILE_MAX_IN];
    df_operand_walk in[DF_TILE_MAX_IN];
    int repeated; /* the operand that has one element per run, for run_runs */
    int single;   /* the operand of a single element that `fn` expects, or -1 */
} job;

df_tile_fn df_tile_select(const df_call *call)
{
    const df_op *op = call->op;
    return op->select ? op->select(call) : op->tile[call->in[op->tile_key]->dtype];
}

/* Tiles are a multiple of every period. An operand whose period is too long uses DF_WALK. */
static int64_t choose_tile(job *j)
{
    int64_t unit = 1;
    for (int i = 0; i < j->n_in; i++) {
        df_operand_walk *o = &j->in[i];
        if (o->mode != DF_PERIODIC) continue;
        int64_t multiple = df_common_multiple(unit, o->period, DF_TILE);
        if (multiple <= DF_TILE) unit = multiple;
        else o->mode = DF_WALK;
    }
    return DF_TILE / unit * unit;
}

/* Runs the tile function on `n` elements. Streaming stores go through a small buffer, so that the
 * processor reads the next operands while it stores. */
static void run_tile(const job *j, int64_t at, int64_t n, const void *const *in)
{
    char *out = j->out + at * j->out_bytes;
    if (!j->stream) {
        j->fn(n, out, in, j->attrs);
        return;
    }
    char piece[DF_STREAM_PIECE] __attribute__((aligned(DF_ALIGNMENT)));
    const int64_t length = DF_STREAM_PIECE / j->out_bytes;
    for (int64_t begin = 0; begin < n; begin += length) {
        const void *from[DF_TILE_MAX_IN];
        const int64_t m = df_min(length, n - begin);
        for (int i = 0; i < j->n_in; i++) from[i] = (const char *)in[i] + begin * j->in[i].bytes;
        j->fn(m, piece, from, j->attrs);
        df_stream_copy(out + begin * j->out_bytes, piece, m * j->out_bytes);
    }
}

static void run_block(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    char buffers[DF_TILE_MAX_IN][DF_TILE * DF_MAX_BYTES] __attribute__((aligned(DF_ALIGNMENT)));
    const void *in[DF_TILE_MAX_IN];
    bool all_direct = true;
    for (int i = 0; i < j->n_in; i++) {
        in[i] = i == j->single ? j->data[i] : buffers[i];
        if (j->in[i].mode == DF_PERIODIC && i != j->single)
            in[i] = df_operand_load(&j->in[i], j->data[i], begin, df_min(j->tile, end - begin),
                                    buffers[i]);
        all_direct &= j->in[i].mode == DF_DIRECT;
    }
    int64_t step = all_direct ? end - begin : j->tile;
    for (int64_t at = begin; at < end; at += step) {
        int64_t n = df_min(step, end - at);
        for (int i = 0; i < j->n_in; i++) {
            const df_operand_walk *o = &j->in[i];
            if (o->mode == DF_DIRECT) in[i] = j->data[i] + at * o->bytes;
            if (o->mode == DF_WALK) in[i] = df_operand_load(o, j->data[i], at, n, buffers[i]);
        }
        run_tile(j, at, n, in);
    }
    if (j->stream) df_stream_drain();
}

/* For an operand with one element per run of elements, as in (m, n) + (m, 1): calls `tile_scalar`
 * for each run, without repeating the element in a buffer. */
static void run_runs(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int one = j->repeated;
    const df_operand_walk *o = &j->in[one];
    const int64_t length = o->extent[o->ndim - 1];
    int64_t n;
    for (int64_t at = begin; at < end; at += n) {
        char element[DF_MAX_BYTES] __attribute__((aligned(DF_MAX_BYTES)));
        const void *in[2];
        n = df_min(length - at % length, end - at);
        in[one] = df_operand_load(o, j->data[one], at, 1, element);
        in[1 - one] = j->data[1 - one] + at * j->in[1 - one].bytes;
        j->fn(n, j->out + at * j->out_bytes, in, j->attrs);
    }
}

/* The function for one repeated element, if an operand is repeated along runs of elements of the
 * other one; then j->repeated is the operand. Otherwise NULL. */
static df_tile_fn for_runs(job *j, const df_call *call)
{
    if (j->n_in != 2 || j->stream || call->in[0]->dtype != call->in[1]->dtype) return NULL;
    for (int k = 0; k < 2; k++) {
        const df_operand_walk *o = &j->in[k];
        if (o->mode == DF_WALK && j->in[1 - k].mode == DF_DIRECT && o->step[o->ndim - 1] == 0 &&
            o->extent[o->ndim - 1] >= LEAST_RUN) {
            j->repeated = k;
            return call->op->tile_scalar[k][call->in[k]->dtype];
        }
    }
    return NULL;
}

/* Uses the function for an operand that is a single element, if there is one. */
static void find_single(job *j, const df_call *call)
{
    if (j->n_in != 2 || call->in[0]->dtype != call->in[1]->dtype) return;
    for (int k = 0; k < 2 && j->single < 0; k++) {
        const df_tile_fn with_one = call->op->tile_scalar[k][call->in[k]->dtype];
        if (!with_one || call->in[k]->size != 1 || j->in[k].mode != DF_PERIODIC) continue;
        j->fn = with_one;
        j->single = k;
        j->in[k].bytes = 0; /* run_tile does not advance */
    }
}

df_status df_tile_run(const df_call *call, df_error *err)
{
    (void)err;
    df_tensor *out = call->out[0];
    if (out->size == 0) return DF_OK;
    job j = {.fn = df_tile_select(call), .attrs = call->attrs, .out = out->data,
             .out_bytes = df_dtypes[out->dtype].bytes, .n_in = call->n_in, .single = -1};
    df_operand_dims dims[DF_TILE_MAX_IN];
    j.stream = df_tensor_bytes(out) >= DF_STREAM_BYTES;
    for (int i = 0; i < call->n_in; i++) {
        j.data[i] = call->in[i]->data;
        j.stream &= j.data[i] != j.out; /* updated in place: the line has been read */
        df_operand_set(&j.in[i], call->in[i], out, &dims[i]);
    }
    j.tile = choose_tile(&j);
    const double cost = df_tile_cost(call->op, call->in[call->op->tile_key]->dtype);
    find_single(&j, call);
    const df_tile_fn with_one = j.single < 0 ? for_runs(&j, call) : NULL;
    if (with_one) j.fn = with_one;
    df_parallel_for(out->size, j.tile * TILES_PER_BLOCK, cost, with_one ? run_runs : run_block, &j);
    return DF_OK;
}
