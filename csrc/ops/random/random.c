/* Random numbers. Input 0 of every op is its key, int64 (2,): each key has a separate stream
 * (rng.h). An element depends only on the key and its index, not on threads.
 *
 * A group of 8 counters yields 32 elements of float32, 16 of float64 and of integers up to 32 bits,
 * 8 of int64. */
#include "op/op.h"
#include "ops/random/random_key.h"
#include "simd/rng.h"
#include "base/thread.h"
#include "simd/vmath.h"

#include <math.h>

enum { SHAPE, DTYPE_OUT, FIRST, SECOND };
enum { N = 0 };

#define TILE_GROUPS 32 /* 4 KB of words per block between generator and conversion */

typedef struct fill fill;
typedef void (*convert_fn)(const fill *f, const uint64_t *words, int64_t n_groups, void *out);
struct fill {
    uint64_t key, counter;
    double a, b;            /* minval and maxval, or mean and stddev */
    int64_t low;            /* of integers */
    uint64_t range;
    int64_t n;              /* elements */
    int64_t per_group, bytes;
    convert_fn convert;
    char *out;
};

/* Fills groups [begin, end). */
static void fill_block(void *context, int64_t begin, int64_t end)
{
    const fill *f = context;
    uint64_t words[TILE_GROUPS * PHILOX_WORDS / 2];
    char last[PHILOX_WORDS * 4];
    int64_t whole = f->n / f->per_group, step = f->per_group * f->bytes;
    for (int64_t g = begin; g < end; g += TILE_GROUPS) {
        int64_t n_groups = df_min(TILE_GROUPS, end - g);
        philox_fill(f->key, f->counter + (uint64_t)g * PHILOX_COUNTERS, n_groups, words);
        int64_t n_whole = df_min(n_groups, whole - g);
        f->convert(f, words, n_whole, f->out + g * step);
        if (n_whole < n_groups) {
            f->convert(f, words + n_whole * (PHILOX_WORDS / 2), 1, last);
            memcpy(f->out + whole * step, last, (size_t)((f->n - whole * f->per_group) * f->bytes));
        }
    }
}

static df_status run_fill(const df_call *call, fill *f, convert_fn convert, int64_t per_group,
                          double cost)
{
    const int64_t *key = call->in[0]->data;
    df_tensor *out = call->out[0];
    philox_stream((uint64_t)key[0], (uint64_t)key[1], &f->key, &f->counter);
    f->n = out->size;
    f->per_group = per_group;
    f->bytes = df_dtypes[out->dtype].bytes;
    f->convert = convert;
    f->out = out->data;
    df_parallel_for(df_ceil_div(f->n, per_group), 16 * TILE_GROUPS, cost * (double)per_group,
                    fill_block, f);
    return DF_OK;
}

/* Random bits, one draw per lane. */
typedef v_u32 words_f32;
typedef v_u64 words_f64;

#define TEMPLATE "ops/random/random_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

static df_status infer_shape(const df_call *call, df_error *err)
{
    df_ints shape = call->attrs[SHAPE].list;
    df_status st = df_infer_key(call, err);
    if (st != DF_OK) return st;
    if (shape.n > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape has %lld dimensions, expected at most %d",
                       call->op->name, (long long)shape.n, DF_MAX_NDIM);
    for (int64_t i = 0; i < shape.n; i++)
        if (shape.v[i] < 0)
            return df_fail(err, DF_BAD_SHAPE, "%s: dimension %lld of shape is %lld, expected >= 0",
                           call->op->name, (long long)i, (long long)shape.v[i]);
    return df_tensor_set(call->out[0], (df_dtype)call->attrs[DTYPE_OUT].i, (int)shape.n, shape.v,
                         call->op->name, err);
}

DF_ONCE(df_status, infer_float, (const df_call *call, df_error *err))
{
    df_dtype dtype = (df_dtype)call->attrs[DTYPE_OUT].i;
    if (dtype != DF_F32 && dtype != DF_F64)
        return df_fail(err, DF_BAD_DTYPE, "%s: dtype is %s, expected float32 or float64",
                       call->op->name, df_dtypes[dtype].name);
    return infer_shape(call, err);
}

DF_ONCE(df_status, infer_uniform, (const df_call *call, df_error *err))
{
    double low = call->attrs[FIRST].f, high = call->attrs[SECOND].f;
    if (!(low <= high) || !isfinite(high - low))
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: minval is %g, maxval %g, expected finite numbers, minval <= maxval",
                       call->op->name, low, high);
    return infer_float(call, err);
}

static df_status run_float(const df_call *call, convert_fn f32, convert_fn f64, double cost)
{
    fill f = {.a = call->attrs[FIRST].f, .b = call->attrs[SECOND].f};
    bool narrow = call->out[0]->dtype == DF_F32;
    return run_fill(call, &f, narrow ? f32 : f64, narrow ? 32 : 16, narrow ? cost : 2 * cost);
}

static df_status run_uniform(const df_call *call, df_error *err)
{
    (void)err;
    return run_float(call, uniform_f32, DF_HAS(F64, uniform_f64), 0.4);
}

static df_status run_normal(const df_call *call, df_error *err)
{
    (void)err;
    return run_float(call, normal_f32, DF_HAS(F64, normal_f64), 1);
}

static df_status run_truncated(const df_call *call, df_error *err)
{
    (void)err;
    return run_float(call, truncated_f32, DF_HAS(F64, truncated_f64), 1.2);
}

#define FLOAT_ATTRS(a, b)                                                                        \
    .n_attrs = 4, .attrs = {{"shape", DF_ATTR_INTS}, {"dtype", DF_ATTR_DTYPE},                   \
                            {a, DF_ATTR_FLOAT}, {b, DF_ATTR_FLOAT}}

DF_OP(random_uniform) = {.name = "random_uniform", .kind = DF_GENERAL, .cannot_fail = true,
                         .n_in = 1, .n_out = 1,
                         FLOAT_ATTRS("minval", "maxval"), .infer = infer_uniform,
                         .run = run_uniform};
DF_OP(random_normal) = {.name = "random_normal", .kind = DF_GENERAL, .cannot_fail = true,
                        .n_in = 1, .n_out = 1,
                        FLOAT_ATTRS("mean", "stddev"), .infer = infer_float, .run = run_normal};
DF_OP(truncated_normal) = {.name = "truncated_normal", .kind = DF_GENERAL, .cannot_fail = true,
                           .n_in = 1, .n_out = 1,
                           FLOAT_ATTRS("mean", "stddev"), .infer = infer_float,
                           .run = run_truncated};

/* High half of a 64-bit draw times the range, which is at most 2^32: the relative bias of a value
 * is at most 2^-32. */
static int64_t int_of_64(const fill *f, uint64_t word)
{
    uint64_t low = (word & 0xffffffff) * f->range >> 32;
    return (int64_t)((uint64_t)f->low + (((word >> 32) * f->range + low) >> 32));
}

static void ints_1(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    uint8_t *y = out;
    for (int64_t i = 0; i < n_groups * 16; i++) y[i] = (uint8_t)int_of_64(f, words[i]);
}

static void ints_2(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    uint16_t *y = out;
    for (int64_t i = 0; i < n_groups * 16; i++) y[i] = (uint16_t)int_of_64(f, words[i]);
}

static void ints_4(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    uint32_t *y = out;
    for (int64_t i = 0; i < n_groups * 16; i++) y[i] = (uint32_t)int_of_64(f, words[i]);
}

/* High part of a 128-bit draw times the range: bias below 2^-64. */
static void ints_8(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    uint64_t *y = out;
    for (int64_t i = 0; i < n_groups * 8; i++) {
        uint64_t carry = (uint64_t)(((unsigned __int128)words[2 * i] * f->range) >> 64);
        unsigned __int128 high = (unsigned __int128)words[2 * i + 1] * f->range + carry;
        y[i] = (uint64_t)f->low + (uint64_t)(high >> 64);
    }
}

DF_ONCE(df_status, infer_integers, (const df_call *call, df_error *err))
{
    df_dtype dtype = (df_dtype)call->attrs[DTYPE_OUT].i;
    int64_t low = call->attrs[FIRST].i, high = call->attrs[SECOND].i;
    if (!df_is_int(dtype))
        return df_fail(err, DF_BAD_DTYPE, "%s: dtype is %s, expected an integer dtype",
                       call->op->name, df_dtypes[dtype].name);
    int bits = df_dtypes[dtype].bytes * 8 - !df_is_unsigned(dtype);
    int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    int64_t least = df_is_unsigned(dtype) ? 0 : -most - 1;
    bool low_known = low != DF_OPEN, high_known = high != DF_OPEN;
    if ((low_known && (low < least || low > most)) ||
        (high_known && (high <= least || high - 1 > most)) ||
        (low_known && high_known && low >= high))
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: minval is %lld, maxval %lld, expected minval "
                       "< maxval, and both within %s", call->op->name, (long long)low,
                       (long long)high, df_dtypes[dtype].name);
    return infer_shape(call, err);
}

static df_status run_integers(const df_call *call, df_error *err)
{
    static const convert_fn by_bytes[] = {[1] = ints_1, [2] = ints_2, [4] = ints_4, [8] = ints_8};
    int bytes = df_dtypes[call->out[0]->dtype].bytes;
    int64_t low = call->attrs[FIRST].i;
    fill f = {.low = low, .range = (uint64_t)call->attrs[SECOND].i - (uint64_t)low};
    (void)err;
    return run_fill(call, &f, by_bytes[bytes], bytes == 8 ? 8 : 16, bytes == 8 ? 2 : 1);
}

DF_OP(random_integers) = {
    .name = "random_integers", .kind = DF_GENERAL, .cannot_fail = true,
    .n_in = 1, .n_out = 1, .n_attrs = 4,
    .attrs = {{"shape", DF_ATTR_INTS}, {"dtype", DF_ATTR_DTYPE},
              {"minval", DF_ATTR_INT, .open = true}, {"maxval", DF_ATTR_INT, .open = true}},
    .infer = infer_integers, .run = run_integers};

DF_ONCE(df_status, infer_permutation, (const df_call *call, df_error *err))
{
    int64_t n = call->attrs[N].i;
    df_status st = df_infer_key(call, err);
    if (st != DF_OK) return st;
    if (n == DF_OPEN) n = DF_UNKNOWN;
    else if (n < 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: n is %lld, expected >= 0", call->op->name,
                       (long long)n);
    return df_tensor_set(call->out[0], DF_I64, 1, &n, call->op->name, err);
}

/* Fisher-Yates shuffle, inside out; serial, as each exchange depends on the previous ones. */
static df_status run_permutation(const df_call *call, df_error *err)
{
    const int64_t *key = call->in[0]->data;
    int64_t *p = call->out[0]->data, n = call->out[0]->size;
    uint64_t stream, counter, words[TILE_GROUPS * PHILOX_WORDS / 2];
    enum { TILE = TILE_GROUPS * PHILOX_WORDS / 2 };
    (void)err;
    philox_stream((uint64_t)key[0], (uint64_t)key[1], &stream, &counter);
    for (int64_t begin = 0; begin < n; begin += TILE) {
        philox_fill(stream, counter + (uint64_t)begin / 2, TILE_GROUPS, words);
        for (int64_t i = begin; i < df_min(n, begin + TILE); i++) {
            unsigned __int128 scaled = (unsigned __int128)words[i - begin] * (uint64_t)(i + 1);
            uint64_t j = (uint64_t)(scaled >> 64);
            p[i] = p[j];
            p[j] = i;
        }
    }
    return DF_OK;
}

DF_OP(random_permutation) = {.name = "random_permutation", .kind = DF_GENERAL, .cannot_fail = true,
                            .serial = true,
                             .n_in = 1,
                             .n_out = 1, .n_attrs = 1, .attrs = {{"n", DF_ATTR_INT, .open = true}},
                             .infer = infer_permutation, .run = run_permutation};

/* Returns the key in the state of a generator and advances the state by one draw. */
DF_ONCE(df_status, infer_next_key, (const df_call *call, df_error *err))
{
    const int64_t two = 2;
    const df_tensor *state = call->in[0];
    if (state->dtype != DF_I64 || !df_same_dims(1, &two, state->shape) || state->ndim != 1)
        return df_fail(err, DF_INVALID_ARGUMENT, "next_key: the state is %s, expected int64 (2,)",
                       df_tensor_text(state).text);
    return df_tensor_set(call->out[0], DF_I64, 1, &two, "next_key", err);
}

static df_status run_next_key(const df_call *call, df_error *err)
{
    uint64_t *state = call->in[0]->data;
    (void)err;
    memcpy(call->out[0]->data, state, 2 * sizeof *state);
    state[1]++;
    return DF_OK;
}

DF_OP(next_key) = {.name = "next_key", .kind = DF_GENERAL, .cannot_fail = true, .internal = true,
                   .n_in = 1, .n_out = 1, .writes = 1, .infer = infer_next_key,
                   .run = run_next_key};
