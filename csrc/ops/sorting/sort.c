/* sort, argsort and top_k over the last axis. Numbers are converted to unsigned keys of the same
 * order; indices are stored in the lower half of a wider key, so equal numbers keep their order.
 * Short rows are sorted in parallel lanes by a sorting network, long ones by radix sort.
 *
 * Rows of n elements. Narrow dtypes have keys of at most 32 bits, wide dtypes of 64. */
#include "ops/in_float.h"
#include "base/memory.h"
#include "op/op.h"
#include "simd/lanes.h"
#include "base/thread.h"

enum {
    NETWORK_MAX = 1024, /* elements per row, if there is a row for each lane */
    NETWORK_MAX_FEW = 96, /* same, if some lanes are empty */
    NETWORK_MAX_VECTORS = 64, /* same, if AVX-512 sorts single rows */
    TOP_CHUNK = 256,          /* elements of a row from which the first k are taken at a time */
    SELECT_MAX = 16,          /* k up to which insertion is faster than sorting candidates */
};

typedef uint32_t b_unsigned_f32;
typedef uint64_t b_unsigned_f64;
typedef uint32_t b_unsigned_u8;
typedef uint32_t b_unsigned_u16;
typedef uint32_t b_unsigned_u32;
typedef uint64_t b_unsigned_u64;
typedef uint32_t b_unsigned_i8;
typedef uint32_t b_unsigned_i16;
typedef uint32_t b_unsigned_i32;
typedef uint64_t b_unsigned_i64;

#define TEMPLATE "ops/sorting/sort_keys_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

#include "ops/sorting/sort.h"

typedef struct {
    void (*load)(const void *from, int64_t n, bool descending, bool stable, void *keys);
    void (*store)(const void *keys, int64_t n, bool descending, void *to);
    int bits;
} key_form;

#define KEY_FORM(dtype, n_bits) {load_keys_##dtype, store_keys_##dtype, n_bits}
static const key_form forms[DF_N_DTYPES] = {
    DF_OF_ALL(BOOL, KEY_FORM(u8, 8)), DF_OF_ALL(U8, KEY_FORM(u8, 8)),
    DF_OF_ALL(U16, KEY_FORM(u16, 16)), DF_OF_ALL(U32, KEY_FORM(u32, 32)),
    DF_OF_ALL(U64, KEY_FORM(u64, 64)), DF_OF_ALL(I8, KEY_FORM(i8, 8)),
    DF_OF_ALL(I16, KEY_FORM(i16, 16)), DF_OF_ALL(I32, KEY_FORM(i32, 32)),
    DF_OF_ALL(I64, KEY_FORM(i64, 64)), [DF_F32] = KEY_FORM(f32, 32),
    DF_OF_ALL(F64, KEY_FORM(f64, 64)),
};

typedef struct {
    key_form form;
    const row_functions *rows;
    int low, high;                    /* the bits [low, high) of an element are its key */
    bool descending, indices, failed; /* failed: atomic, out of memory in a task */
    int64_t n, k;                     /* elements per row; elements returned per row */
    int64_t x_bytes;                  /* per element */
    const char *x;
    char *values;                     /* NULL: not returned */
    int32_t *positions;               /* if `indices` */
    int64_t n_rows;
} sort_job;

/* --- one row -----------------------------------------------------------------------------------*/

/* Writes keys of x[0..n) with indices from `first` on to `to` (scratch holds n keys). */
static void load_pairs(const sort_job *s, const char *x, int64_t first, int64_t n, void *to,
                       void *scratch)
{
    s->form.load(x, n, s->descending, true, scratch);
    if (s->form.bits > 32) {
        const uint64_t *keys = scratch;
        wide_pair *pairs = to;
        for (int64_t i = 0; i < n; i++) pairs[i] = (wide_pair){keys[i], (uint64_t)(first + i)};
    } else {
        const uint32_t *keys = scratch;
        uint64_t *pairs = to;
        for (int64_t i = 0; i < n; i++) pairs[i] = (uint64_t)keys[i] << 32 | (uint64_t)(first + i);
    }
}

static void *sort_loaded(const sort_job *s, void *keys, void *tmp, int64_t n)
{
    return s->rows->sort(keys, tmp, n, s->low, s->high);
}

/* Copies values [begin, end) of row r by their indices, so that -0 is kept. */
static void store_values(const sort_job *s, int64_t r, int64_t begin, int64_t end)
{
    const char *x = s->x + r * s->n * s->x_bytes;
    char *values = s->values + r * s->k * s->x_bytes;
    const int32_t *positions = s->positions + r * s->k;
    if (s->x_bytes == 4)
        for (int64_t i = begin; i < end; i++) memcpy(values + i * 4, x + positions[i] * 4, 4);
    else
        for (int64_t i = begin; i < end; i++)
            memcpy(values + i * s->x_bytes, x + positions[i] * s->x_bytes, (size_t)s->x_bytes);
}

/* Stores sorted elements [begin, end) of row r. */
static void store_range(const sort_job *s, int64_t r, const void *sorted, int64_t step,
                        int64_t begin, int64_t end)
{
    int32_t *positions = s->positions + r * s->k;
    for (int64_t i = begin; i < end; i++)
        positions[i] = (int32_t)(s->form.bits > 32 ? ((const wide_pair *)sorted)[i * step].index
                                                   : ((const uint64_t *)sorted)[i * step]);
    if (s->values) store_values(s, r, begin, end);
}

static void store_row(const sort_job *s, int64_t r, const void *sorted, int64_t step)
{
    store_range(s, r, sorted, step, 0, s->k);
}

static void whole_row(const sort_job *s, int64_t r, char *keys, char *tmp)
{
    const char *x = s->x + r * s->n * s->x_bytes;
    if (s->indices) {
        load_pairs(s, x, 0, s->n, keys, tmp);
        store_row(s, r, sort_loaded(s, keys, tmp, s->n), 1);
    } else {
        s->form.load(x, s->n, s->descending, false, keys);
        s->form.store(sort_loaded(s, keys, tmp, s->n), s->n, s->descending,
                      s->values + r * s->n * s->x_bytes);
    }
}

/* --- the first k of a row ----------------------------------------------------------------------*/

/* For small k: inserts elements into the first k so far. */
static void select_from_row(const sort_job *s, int64_t r)
{
    const char *x = s->x + r * s->n * s->x_bytes;
    int32_t *positions = s->positions + r * s->k;
    uint64_t keys[TOP_CHUNK], least[SELECT_MAX];
    int64_t n_kept = 0;
    for (int64_t i = 0; i < s->n; i += TOP_CHUNK) {
        const int64_t n = df_min(s->n - i, TOP_CHUNK);
        s->form.load(x + i * s->x_bytes, n, s->descending, true, keys);
        n_kept = s->form.bits > 32 ? select_least_u64(keys, n, i, n_kept, s->k, least, positions)
                                   : select_least_u32(keys, n, i, n_kept, s->k, least, positions);
    }
    store_values(s, r, 0, s->k);
}

/* Candidates are collected in `keep`, which holds 2 k + TOP_CHUNK. When it is full it is sorted
 * and cut to k; from then on only elements less than the last candidate are added. */
static void top_of_row(const sort_job *s, int64_t r, char *keep, char *tmp)
{
    const char *x = s->x + r * s->n * s->x_bytes;
    const int64_t each = s->rows->bytes;
    uint64_t chunk[2 * TOP_CHUNK], scratch[TOP_CHUNK];
    uint64_t limit = UINT64_MAX; /* key (narrow dtypes: pair) of the last candidate */
    bool limited = false;
    int64_t n_kept = 0;
    for (int64_t i = 0; i < s->n; i += TOP_CHUNK) {
        const int64_t n = df_min(s->n - i, TOP_CHUNK);
        load_pairs(s, x + i * s->x_bytes, i, n, chunk, scratch);
        if (each == 16) {
            const wide_pair *from = (const wide_pair *)chunk;
            wide_pair *to = (wide_pair *)keep;
            for (int64_t j = 0; j < n; j++) {
                to[n_kept] = from[j];
                n_kept += !limited || from[j].key < limit;
            }
        } else {
            uint64_t *to = (uint64_t *)keep;
            for (int64_t j = 0; j < n; j++) {
                to[n_kept] = chunk[j];
                n_kept += chunk[j] <= limit;
            }
        }
        if (n_kept < 2 * s->k && i + n < s->n) continue;
        char *sorted = sort_loaded(s, keep, tmp, n_kept);
        n_kept = df_min(n_kept, s->k);
        if (sorted != keep) memcpy(keep, sorted, (size_t)(n_kept * each));
        limited = n_kept == s->k;
        if (limited) memcpy(&limit, keep + (n_kept - 1) * each, sizeof limit);
    }
    store_row(s, r, keep, 1);
}

/* --- blocks of rows ----------------------------------------------------------------------------*/

/* Sorts rows [begin, end) at once, one per lane. */
static void panel(const sort_job *s, int64_t begin, int64_t end, char *keys, char *tmp)
{
    const int64_t n = s->n, lanes = PANEL_BYTES / s->rows->bytes;
    uint32_t *narrow = (uint32_t *)keys, *narrow_tmp = (uint32_t *)tmp;
    memset(keys, 0, (size_t)(n * PANEL_BYTES));
    for (int64_t r = begin; r < end; r++) {
        const char *x = s->x + r * n * s->x_bytes;
        const int64_t lane = r - begin;
        if (s->indices) load_pairs(s, x, 0, n, tmp, tmp + n * 8);
        else s->form.load(x, n, s->descending, false, tmp);
        if (lanes == 8)
            for (int64_t i = 0; i < n; i++) ((uint64_t *)keys)[i * 8 + lane] = ((uint64_t *)tmp)[i];
        else
            for (int64_t i = 0; i < n; i++) narrow[i * 16 + lane] = narrow_tmp[i];
    }
    if (lanes == 8) network_wide((uint64_t *)keys, n);
    else network_narrow((uint32_t *)keys, n);
    for (int64_t r = begin; r < end; r++) {
        const int64_t lane = r - begin;
        if (s->indices) {
            store_row(s, r, keys + lane * 8, 8);
            continue;
        }
        if (lanes == 8)
            for (int64_t i = 0; i < n; i++) ((uint64_t *)tmp)[i] = ((uint64_t *)keys)[i * 8 + lane];
        else
            for (int64_t i = 0; i < n; i++) narrow_tmp[i] = narrow[i * 16 + lane];
        s->form.store(tmp, n, s->descending, s->values + r * n * s->x_bytes);
    }
}

/* If single rows are sorted by vectors, the network is faster only for the shortest rows. */
static int64_t network_max(const sort_job *s)
{
#if defined(__AVX512F__)
    if (s->rows->bytes == 4) return NETWORK_MAX_VECTORS;
#endif
    (void)s;
    return NETWORK_MAX;
}

static bool few_of_many(const sort_job *s) { return s->k < s->n && s->k <= s->n / 8; }

static void sort_block(void *context, int64_t begin, int64_t end)
{
    sort_job *s = context;
    const int64_t each = s->rows->bytes, lanes = PANEL_BYTES / each;
    const bool few = few_of_many(s);
    const int64_t capacity = few ? 2 * s->k + TOP_CHUNK + 1 : s->n; /* elements per buffer */
    const int64_t half = df_max(capacity * each, few ? 0 : df_min(s->n, NETWORK_MAX) * PANEL_BYTES);
    df_buffer *buffer = df_buffer_new(2 * half);
    if (!buffer) {
        __atomic_store_n(&s->failed, true, __ATOMIC_RELAXED);
        return;
    }
    char *keys = buffer->data, *tmp = keys + half;
    for (int64_t r = begin; r < end;) {
        const int64_t rows = df_min(end - r, lanes);
        if (few && s->k <= SELECT_MAX) select_from_row(s, r++);
        else if (few) top_of_row(s, r++, keys, tmp);
        else if (each <= 8 && s->n <= (rows == lanes ? network_max(s) : NETWORK_MAX_FEW)) {
            panel(s, r, r + rows, keys, tmp);
            r += rows;
        } else whole_row(s, r++, keys, tmp);
    }
    df_buffer_release(buffer);
}

/* --- one long row on all threads ----------------------------------------------------------------
 *
 * Elements are first distributed to heaps by the highest bits in which keys of the row differ,
 * block by block in order; then each heap is sorted separately, in a cache if it fits. Blocks
 * depend only on n, and heaps are stable, so the result does not depend on the number of
 * threads. */

enum {
    LONG_ROW = 1 << 16, /* elements; shorter rows are sorted by one thread each */
    MAX_BLOCKS = 64,
    HEAP_BITS = 10,
    HEAPS = 1 << HEAP_BITS,
};

typedef struct {
    const sort_job *s;
    int64_t row, block;         /* elements per block */
    char *keys, *dealt;         /* n elements each */
    int64_t (*places)[HEAPS];   /* per block: counts, then positions of its elements */
    uint64_t least[MAX_BLOCKS], largest[MAX_BLOCKS];
    int64_t starts[HEAPS + 1];
    int shift;
} long_job;

static void load_block(void *context, int64_t begin, int64_t end)
{
    long_job *g = context;
    const sort_job *s = g->s;
    const int64_t b = begin / g->block, each = s->rows->bytes, n = end - begin;
    const char *x = s->x + (g->row * s->n + begin) * s->x_bytes;
    char *keys = g->keys + begin * each;
    if (s->indices) load_pairs(s, x, begin, n, keys, g->dealt + begin * each);
    else s->form.load(x, n, s->descending, false, keys);
    s->rows->range(keys, n, s->low, &g->least[b], &g->largest[b]);
}

static void count_block(void *context, int64_t begin, int64_t end)
{
    long_job *g = context;
    int64_t *counts = g->places[begin / g->block];
    memset(counts, 0, HEAPS * sizeof *counts);
    g->s->rows->count(g->keys + begin * g->s->rows->bytes, end - begin, g->s->low, g->least[0],
                      g->shift, counts);
}

static void deal_block(void *context, int64_t begin, int64_t end)
{
    long_job *g = context;
    g->s->rows->deal(g->keys + begin * g->s->rows->bytes, g->dealt, end - begin, g->s->low,
                     g->least[0], g->shift, g->places[begin / g->block]);
}

static void sort_heap(void *context, int64_t begin, int64_t end)
{
    long_job *g = context;
    const int64_t each = g->s->rows->bytes;
    for (int64_t h = begin; h < end; h++) {
        const int64_t start = g->starts[h] * each, n = g->starts[h + 1] - g->starts[h];
        if (n < 2 || g->shift == 0) continue;
        char *sorted = g->s->rows->sort(g->dealt + start, g->keys + start, n, g->s->low,
                                        g->s->low + g->shift);
        if (sorted != g->dealt + start) memcpy(g->dealt + start, sorted, (size_t)(n * each));
    }
}

static void store_block(void *context, int64_t begin, int64_t end)
{
    long_job *g = context;
    const sort_job *s = g->s;
    if (s->indices) {
        store_range(s, g->row, g->dealt, 1, df_min(begin, s->k), df_min(end, s->k));
        return;
    }
    char *keys = g->dealt + begin * s->rows->bytes;
    s->rows->raise(keys, end - begin, g->least[0]);
    s->form.store(keys, end - begin, s->descending,
                  s->values + (g->row * s->n + begin) * s->x_bytes);
}

static void long_row(long_job *g)
{
    const sort_job *s = g->s;
    const int64_t n_blocks = df_ceil_div(s->n, g->block);
    df_parallel_for(s->n, g->block, 1, load_block, g);
    for (int64_t b = 1; b < n_blocks; b++) {
        if (g->least[b] < g->least[0]) g->least[0] = g->least[b];
        if (g->largest[b] > g->largest[0]) g->largest[0] = g->largest[b];
    }
    g->shift = 0;
    while ((g->largest[0] - g->least[0]) >> g->shift >= HEAPS) g->shift++;
    df_parallel_for(s->n, g->block, 1, count_block, g);
    int64_t sum = 0;
    for (int64_t h = 0; h < HEAPS; h++) {
        g->starts[h] = sum;
        for (int64_t b = 0; b < n_blocks; b++) {
            const int64_t count = g->places[b][h];
            g->places[b][h] = sum;
            sum += count;
        }
    }
    g->starts[HEAPS] = sum;
    df_parallel_for(s->n, g->block, 2, deal_block, g);
    df_parallel_for(HEAPS, 1, 4 * (double)s->n / HEAPS, sort_heap, g);
    df_parallel_for(s->n, g->block, 1, store_block, g);
}

static bool long_rows(sort_job *s)
{
    const int64_t block = df_max(df_ceil_div(s->n, MAX_BLOCKS), 1 << 14);
    long_job g = {.s = s, .block = block};
    int64_t bytes = 0;
    if (!df_mul_size(s->n, 2 * s->rows->bytes, &bytes)) return false;
    df_buffer *buffer = df_buffer_new(bytes);
    df_buffer *places = df_buffer_new(df_ceil_div(s->n, block) * (int64_t)sizeof *g.places);
    if (buffer && places) {
        g.keys = buffer->data;
        g.dealt = g.keys + bytes / 2;
        g.places = places->data;
        for (g.row = 0; g.row < s->n_rows; g.row++) long_row(&g);
    }
    const bool done = buffer && places;
    df_buffer_release(buffer);
    df_buffer_release(places);
    return done;
}

static df_status run_sort(const df_call *call, sort_job *s, df_error *err)
{
    const df_tensor *x = call->in[0];
    s->form = forms[x->dtype];
    s->low = s->indices && s->form.bits <= 32 ? 32 : 0;
    s->high = s->low + s->form.bits;
    s->rows = s->form.bits > 32 ? (s->indices ? &functions_pair : &functions_wide)
                                : (s->indices ? &functions_wide : &functions_narrow);
    s->x = x->data;
    s->x_bytes = df_dtypes[x->dtype].bytes;
    s->n = x->shape[x->ndim - 1];
    if (x->size == 0 || s->k == 0) return DF_OK;
    s->n_rows = x->size / s->n;
    if (s->n >= LONG_ROW && !few_of_many(s)) {
        s->failed = !long_rows(s);
    } else {
        const int64_t grain = df_max(16384 / s->n, 1) + 15;
        df_parallel_for(s->n_rows, s->n >= 16384 ? 1 : grain - grain % 16, 5.0 * (double)s->n,
                        sort_block, s);
    }
    if (s->failed)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory to sort rows of %lld elements",
                       call->op->name, (long long)s->n);
    return DF_OK;
}

/* --- records -----------------------------------------------------------------------------------*/

enum { DESCENDING };

static df_status check_input(const df_call *call, bool indices, df_error *err)
{
    const df_tensor *x = call->in[0];
    if (!forms[x->dtype].load)
        return df_fail_dtype(call, 0, "bool, an integer, float32 or float64", err);
    if (x->ndim < 1)
        return df_fail(err, DF_BAD_SHAPE, "%s: got a scalar, expected at least 1 dimension",
                       call->op->name);
    if (indices && x->shape[x->ndim - 1] > INT32_MAX)
        return df_fail(err, DF_UNIMPLEMENTED, "%s: rows of %lld elements, expected at most %d",
                       call->op->name, (long long)x->shape[x->ndim - 1], INT32_MAX);
    return DF_OK;
}

DF_ONCE(df_status, infer_sort, (const df_call *call, df_error *err))
{
    df_status status = check_input(call, false, err);
    return status == DF_OK ? df_infer_same(call, err) : status;
}

static df_status run_values(const df_call *call, df_error *err)
{
    sort_job s = {.descending = call->attrs[DESCENDING].i, .values = call->out[0]->data};
    s.k = call->in[0]->shape[call->in[0]->ndim - 1];
    return run_sort(call, &s, err);
}

DF_OP(sort) = {.name = "sort", .kind = DF_GENERAL, .cannot_fail = true,
               .n_in = 1, .n_out = 1, .n_attrs = 1,
               .attrs = {{"descending", DF_ATTR_BOOL}}, .infer = infer_sort, .run = run_values,
               RUN_IN_FLOAT};

DF_ONCE(df_status, infer_argsort, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    df_status status = check_input(call, true, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], DF_I32, x->ndim, x->shape, call->op->name, err);
}

static df_status run_argsort(const df_call *call, df_error *err)
{
    sort_job s = {.descending = call->attrs[DESCENDING].i, .indices = true,
                  .positions = call->out[0]->data};
    s.k = call->in[0]->shape[call->in[0]->ndim - 1];
    return run_sort(call, &s, err);
}

DF_OP(argsort) = {.name = "argsort", .kind = DF_GENERAL, .cannot_fail = true,
                  .n_in = 1, .n_out = 1, .n_attrs = 1,
                  .attrs = {{"descending", DF_ATTR_BOOL}}, .infer = infer_argsort,
                  .run = run_argsort, RUN_IN_FLOAT};

enum { K };

DF_ONCE(df_status, infer_top_k, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const int64_t k = call->attrs[K].i;
    int64_t shape[DF_MAX_NDIM];
    df_status status = check_input(call, true, err);
    if (status != DF_OK) return status;
    const int64_t n = x->shape[x->ndim - 1];
    if (k != DF_OPEN && (k < 0 || (n != DF_UNKNOWN && k > n)))
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: k is %lld for input of shape %s, expected 0 to %lld", call->op->name,
                       (long long)k, df_shape_text(x->ndim, x->shape).text,
                       (long long)n);
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    shape[x->ndim - 1] = k == DF_OPEN ? DF_UNKNOWN : k;
    status = df_tensor_set(call->out[0], x->dtype, x->ndim, shape, call->op->name, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[1], DF_I32, x->ndim, shape, call->op->name, err);
}

static df_status run_top_k(const df_call *call, df_error *err)
{
    sort_job s = {.descending = true, .indices = true, .k = call->attrs[K].i,
                  .values = call->out[0]->data, .positions = call->out[1]->data};
    return run_sort(call, &s, err);
}

DF_OP(top_k) = {.name = "top_k", .kind = DF_GENERAL, .cannot_fail = true,
                .n_in = 1, .n_out = 2, .n_attrs = 1,
                .attrs = {{"k", DF_ATTR_INT, .open = true}}, .infer = infer_top_k, .run = run_top_k,
                RUN_IN_FLOAT};
