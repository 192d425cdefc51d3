/* Runs a formula of optimizer.c over variables in parallel: with a dense gradient or a gradient of
 * rows, in the dtype of the variables or on the float32 masters of 16-bit variables. Included by
 * optimizer.c alone. All splits depend on sizes only, and each element is updated once. */
#ifndef DF_UPDATE_LOOP_H
#define DF_UPDATE_LOOP_H

#include "op/op.h"
#include "ops/indexing/rows.h"
#include "base/thread.h"
#include "simd/lanes_half.h"
#include "simd/simd.h"
#if defined(__x86_64__)
#include "simd/intrinsics.h"
#endif

#define MAX_WRITTEN 4
#define GRAIN 16384
#define SPAN 1024 /* elements of a row whose gradient is summed at a time */
#define PIECE 512 /* elements that are converted at a time */

/* Coefficients of a loop, in float64; the loop rounds them to its dtype. */
typedef struct {
    double lr, a, b, c, epsilon, decay;
    bool flag; /* nesterov, or momentum is used */
    bool decays; /* slots decay while the gradient is 0 */
} coefficients;

typedef struct update update;
typedef void (*update_fn)(int64_t n, void *const *var, const void *grad, const coefficients *k);
struct update {
    update_fn fn;
    coefficients k;
    int bytes, n_written;
    void *var[MAX_WRITTEN]; /* NULL for an unused slot */
    const char *grad;
    df_dtype grad_dtype, half; /* `half`: the dtype of `rounded` */
    uint16_t *rounded;         /* the variable whose master is var[0], or NULL */
};

/* Runs the loop. If slots decay, numbers below the normal range count as 0: a mean whose gradient
 * stays 0 ends there, and some processors take 150 cycles for such a number. */
static void run_loop(const update *u, int64_t n, void *const *var, const void *grad)
{
#if defined(__x86_64__)
    const unsigned mode = _mm_getcsr(), flush = mode | 0x8040; /* results, and operands */
    if (u->k.decays) _mm_setcsr(flush);
    u->fn(n, var, grad, &u->k);
    if (u->k.decays) _mm_setcsr(mode);
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    const uint64_t flush = mode | UINT64_C(1) << 24;
    if (u->k.decays) __asm__ volatile("msr fpcr, %0" : : "r"(flush));
    u->fn(n, var, grad, &u->k);
    if (u->k.decays) __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    u->fn(n, var, grad, &u->k);
#endif
}

/* Replaces elements of the master that do not round to the elements of the variable. */
static void match_master(df_dtype half, int64_t n, float *master, const uint16_t *variable)
{
    uint16_t rounded[PIECE];
    uint32_t differ = half != DF_BF16;
    for (int64_t i = 0; i < n && half == DF_BF16; i++) { /* a NaN may differ from itself */
        const uint32_t bits = df_float_bits(master[i]);
        differ |= (bits + 0x7fff + (bits >> 16 & 1)) >> 16 ^ variable[i];
    }
    if (!differ) return;
    df_narrow(half, n, rounded, master);
    if (memcmp(rounded, variable, (size_t)n * 2) == 0) return;
    for (int64_t i = 0; i < n; i++)
        if (rounded[i] != variable[i]) master[i] = df_half_to_f32(variable[i], half);
}

/* Applies an update to elements [at, at + n) of the variables; n <= PIECE if it converts. */
static void update_piece(const update *u, int64_t at, int64_t n, const void *grad)
{
    void *var[MAX_WRITTEN] = {0};
    for (int i = 0; i < u->n_written; i++)
        if (u->var[i]) var[i] = (char *)u->var[i] + at * u->bytes;
    if (DF_BUILT_HALVES && u->rounded) match_master(u->half, n, var[0], u->rounded + at);
    run_loop(u, n, var, grad);
    if (DF_BUILT_HALVES && u->rounded) df_narrow(u->half, n, u->rounded + at, var[0]);
}

/* Applies an update to elements [at, at + n) of the variables; `grad` has their dtype. */
static void update_span(const update *u, int64_t at, int64_t n, const void *grad)
{
    const int64_t some = DF_BUILT_HALVES && u->rounded ? PIECE : n;
    for (int64_t i = 0; i < n; i += some)
        update_piece(u, at + i, df_min(some, n - i), (const char *)grad + i * u->bytes);
}

static void update_block(void *context, int64_t begin, int64_t end)
{
    const update *u = context;
    if (!DF_BUILT_HALVES || !df_is_reduced_float(u->grad_dtype)) {
        update_span(u, begin, end - begin, u->grad + begin * u->bytes);
        return;
    }
    float wide[PIECE] __attribute__((aligned(DF_ALIGNMENT)));
    for (int64_t at = begin; at < end; at += PIECE) {
        const int64_t n = df_min(PIECE, end - at);
        df_widen(u->grad_dtype, n, wide, (const uint16_t *)(const void *)u->grad + at);
        update_piece(u, at, n, wide);
    }
}

/* An update whose gradient is `n` rows of `inner` elements, selected by sorted picks. */
typedef struct {
    update u; /* `grad` is the rows */
    const df_row_index *picks;
    int64_t n, inner;
    df_dtype dtype; /* of the variables that `u` updates */
} rows_update;

/* sum += elements [at, at + n) of the gradient, n <= SPAN. */
static void add_gradient(const rows_update *r, int64_t at, int64_t n, void *sum)
{
    float wide[SPAN] __attribute__((aligned(DF_ALIGNMENT)));
    const char *x = r->u.grad + at * df_dtypes[r->u.grad_dtype].bytes;
    if (DF_BUILT_HALVES && df_is_reduced_float(r->u.grad_dtype)) {
        df_widen(r->u.grad_dtype, n, wide, (const uint16_t *)(const void *)x);
        x = (const char *)wide;
    }
    add_row(r->dtype, n, sum, x);
}

/* Updates the row of pick `i`, the first of its run; returns the end of the run. */
static int64_t update_row(const rows_update *r, int64_t i)
{
    double sum[SPAN] __attribute__((aligned(DF_ALIGNMENT)));
    const int64_t end = run_end(r->picks, r->n, i), bytes = r->u.bytes;
    for (int64_t at = 0; at < r->inner; at += SPAN) {
        const int64_t span = df_min(r->inner - at, SPAN);
        memset(sum, 0, (size_t)(span * bytes));
        for (int64_t j = i; j < end; j++)
            add_gradient(r, r->picks[j].at * r->inner + at, span, sum);
        update_span(&r->u, r->picks[i].row * r->inner + at, span, sum);
    }
    return end;
}

/* Updates the rows whose runs begin in picks[begin:end]. */
static void named_block(void *context, int64_t begin, int64_t end)
{
    const rows_update *r = context;
    for (int64_t i = run_begin(r->picks, begin, end); i < end;) i = update_row(r, i);
}

/* Updates rows [begin, end) of the variable. */
static void every_block(void *context, int64_t begin, int64_t end)
{
    static const double zeros[SPAN];
    const rows_update *r = context;
    int64_t i = row_indices_before(r->picks, r->n, begin);
    for (int64_t row = begin; row < end; row++) {
        const int64_t named = i < r->n ? df_min(r->picks[i].row, end) : end;
        for (int64_t at = row * r->inner; at < named * r->inner; at += SPAN)
            update_span(&r->u, at, df_min(named * r->inner - at, SPAN), zeros);
        row = named;
        if (row < end) i = update_row(r, i);
    }
}

typedef enum {
    DENSE,
    NAMED, /* sparse; the gradient 0 changes nothing */
    EVERY  /* sparse; the gradient 0 changes the variable or a slot */
} extent;

/* A variant of an op. Its call begins with the variables that the formula updates. */
typedef struct {
    extent e;
    const df_tensor *rounded; /* the 16-bit variable whose master is input 0, or NULL */
} variant;

static df_status run_rows(const df_call *call, int grad, update u, variant v, double cost,
                          df_error *err)
{
    const df_tensor *var = call->in[0];
    const layout l = lay_out(var->ndim, var->shape, call->in[grad + 1], 0, 0, false);
    df_status status = DF_SYM(df_check_indices)(call, &l, "the variable", err);
    if (status != DF_OK || var->size == 0 || (l.picks == 0 && v.e == NAMED)) return status;
    rows_update r = {.u = u, .picks = DF_SYM(df_sort_row_indices)(&l, call->workspace),
                     .n = l.picks, .inner = df_is_complex(var->dtype) ? 2 * l.inner : l.inner,
                     .dtype = df_real_dtype(var->dtype)};
    const int64_t grain = df_max(GRAIN / df_max(r.inner, 1), 1);
    const double row_cost = 10 + cost * (double)(r.inner * u.bytes) / 4;
    if (v.e == NAMED) df_parallel_for(l.picks, grain, row_cost, named_block, &r);
    else df_parallel_for(l.rows, grain, row_cost, every_block, &r);
    return DF_OK;
}

/* Runs the update on the variables, the inputs before `grad`. */
static df_status run_update(const df_call *call, int grad, variant v, update_fn f32, update_fn f64,
                            coefficients k, double cost, df_error *err)
{
    const df_tensor *var = call->in[0];
    const df_dtype part = df_real_dtype(var->dtype);
    update u = {.fn = part == DF_F32 ? f32 : f64, .k = k, .n_written = grad,
                .bytes = df_dtypes[part].bytes, .grad = call->in[grad]->data,
                .grad_dtype = df_real_dtype(call->in[grad]->dtype),
                .half = v.rounded ? v.rounded->dtype : DF_F32,
                .rounded = v.rounded ? v.rounded->data : NULL};
    for (int i = 0; i < grad; i++) u.var[i] = call->in[i]->size ? call->in[i]->data : NULL;
    if (DF_BUILT_ROWS && v.e != DENSE) return run_rows(call, grad, u, v, cost, err);
    df_parallel_for(part == var->dtype ? var->size : 2 * var->size, GRAIN, cost * u.bytes / 4,
                    update_block, &u);
    return DF_OK;
}

#endif
