/* Counting equal values: unique, bincount, confusion_matrix. */
#include "ops/in_float.h"
#include "op/op.h"
#include "simd/simd.h"
#include "base/thread.h"

/* Reads memory exactly once, as another thread may write shared memory at the same time. */
static int64_t int_at(const df_tensor *x, int64_t i)
{
    return x->dtype == DF_I32 ? ((const volatile int32_t *)x->data)[i]
                              : ((const volatile int64_t *)x->data)[i];
}

static void store_int(df_tensor *x, int64_t i, int64_t value)
{
    if (x->dtype == DF_I32) ((int32_t *)x->data)[i] = (int32_t)value;
    else ((int64_t *)x->data)[i] = value;
}

static df_status check_counter(const df_call *call, df_dtype type, const char *what,
                               df_error *err)
{
    if (type == DF_I32 || type == DF_I64) return DF_OK;
    return df_fail(err, DF_BAD_DTYPE, "%s: %s is %s, expected int32 or int64", call->op->name, what,
                   df_dtypes[type].name);
}

static df_status check_int(const df_call *call, int input, df_error *err)
{
    const df_dtype type = call->in[input]->dtype;
    return type == DF_I32 || type == DF_I64 ? DF_OK
                                            : df_fail_dtype(call, input, "int32 or int64", err);
}

/* --- unique: outputs y, idx, count; values in the order of first appearance
 * ------------------------ A hash table with open addressing, keyed by the bits of the values, or a
 * hash of those of complex128; -0 equals 0, all NaNs are equal. */

enum { OUT_IDX };

static uint64_t bits_at(const df_tensor *x, int64_t i)
{
    uint64_t bits = 0;
    if (x->dtype == DF_F32) {
        float v = ((const float *)x->data)[i] + 0.0f;
        if (v != v) return UINT64_MAX;
        memcpy(&bits, &v, sizeof v);
    } else if (x->dtype == DF_F64) {
        double v = ((const double *)x->data)[i] + 0.0;
        if (v != v) return UINT64_MAX; /* the bits of a NaN */
        memcpy(&bits, &v, sizeof v);
    } else if (x->dtype == DF_C64) {
        const float *z = (const float *)x->data + 2 * i;
        const float v[2] = {z[0] + 0.0f, z[1] + 0.0f};
        if (v[0] != v[0] || v[1] != v[1]) return UINT64_MAX;
        memcpy(&bits, v, sizeof v);
    } else if (x->dtype == DF_C128) {
        const double *z = (const double *)x->data + 2 * i;
        const double v[2] = {z[0] + 0.0, z[1] + 0.0};
        uint64_t parts[2];
        if (v[0] != v[0] || v[1] != v[1]) return UINT64_MAX;
        memcpy(parts, v, sizeof v);
        bits = parts[0] * 0x9E3779B97F4A7C15u ^ parts[1];
    } else {
        const int bytes = df_dtypes[x->dtype].bytes;
        if (bytes == 8) bits = ((const uint64_t *)x->data)[i];
        else if (bytes == 4) bits = ((const uint32_t *)x->data)[i];
        else if (bytes == 2) bits = ((const uint16_t *)x->data)[i];
        else bits = ((const uint8_t *)x->data)[i];
    }
    return bits;
}

/* Returns true if elements with equal `bits_at` are equal. */
static bool are_equal(const df_tensor *x, int64_t i, int64_t k)
{
    if (x->dtype != DF_C128) return true;
    const double *a = (const double *)x->data + 2 * i, *b = (const double *)x->data + 2 * k;
    const bool nan_a = a[0] != a[0] || a[1] != a[1], nan_b = b[0] != b[0] || b[1] != b[1];
    return (a[0] == b[0] && a[1] == b[1]) || (nan_a && nan_b);
}

typedef struct {
    uint64_t bits;
    int64_t number; /* 1 + index in the order of appearance; 0: free */
} slot;

static int64_t n_slots(int64_t n)
{
    int64_t slots = 16;
    while (slots < 2 * n) slots *= 2;
    return slots;
}

DF_ONCE(int64_t, unique_workspace, (const df_call *call))
{
    const int64_t n = call->in[0]->size;
    int64_t bytes;
    if (n > INT64_MAX / 8 || !df_mul_size(n_slots(n), (int64_t)sizeof(slot), &bytes) ||
        !df_add_size(bytes, n * 16, &bytes))
        return -1;
    return bytes;
}

DF_ONCE(df_status, infer_unique, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const df_dtype type = (df_dtype)call->attrs[OUT_IDX].i;
    const int64_t unknown = DF_UNKNOWN;
    df_status status = check_counter(call, type, "out_idx", err);
    if (status != DF_OK) return status;
    if (x->ndim != 1)
        return df_fail(err, DF_BAD_SHAPE, "%s: x has shape %s, expected 1 dimension",
                       call->op->name, df_shape_text(x->ndim, x->shape).text);
    if (type == DF_I32 && x->shape[0] > INT32_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: %lld elements, expected out_idx int64",
                       call->op->name, (long long)x->shape[0]);
    status = df_tensor_set(call->out[0], x->dtype, 1, &unknown, call->op->name, err);
    if (status == DF_OK)
        status = df_tensor_set(call->out[1], type, 1, x->shape, call->op->name, err);
    if (status == DF_OK)
        status = df_tensor_set(call->out[2], type, 1, &unknown, call->op->name, err);
    return status;
}

static df_status allocate(const df_call *call, int output, int ndim, const int64_t *shape,
                          df_error *err)
{
    df_tensor *out = call->out[output];
    df_status status = df_tensor_set(out, out->dtype, ndim, shape, call->op->name, err);
    return status == DF_OK ? df_tensor_alloc(out, call->op->name, err) : status;
}

DF_ONCE(df_status, run_unique, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const int64_t n = x->size, bytes = df_dtypes[x->dtype].bytes, slots = n_slots(n);
    slot *table = call->workspace;
    int64_t *first = (int64_t *)(table + slots), *count = first + n, found = 0;
    memset(table, 0, (size_t)slots * sizeof *table);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = bits_at(x, i);
        uint64_t at = bits * 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio: mixes the low bits in */
        at = (at ^ at >> 32) & (uint64_t)(slots - 1);
        while (table[at].number && (table[at].bits != bits ||
                                    !are_equal(x, first[table[at].number - 1], i)))
            at = (at + 1) & (uint64_t)(slots - 1);
        if (!table[at].number) {
            first[found] = i;
            count[found++] = 0;
            table[at] = (slot){bits, found};
        }
        count[table[at].number - 1]++;
        store_int(call->out[1], i, table[at].number - 1);
    }
    df_status status = allocate(call, 0, 1, &found, err);
    if (status == DF_OK) status = allocate(call, 2, 1, &found, err);
    if (status != DF_OK) return status;
    for (int64_t u = 0; u < found; u++) {
        memcpy((char *)call->out[0]->data + u * bytes, (const char *)x->data + first[u] * bytes,
               (size_t)bytes);
        store_int(call->out[2], u, count[u]);
    }
    return DF_OK;
}

DF_OP(unique) = {.name = "unique", .kind = DF_GENERAL, .data_dependent_shape = true,
                 .n_in = 1, .n_out = 3, .n_attrs = 1,
                 .attrs = {{"out_idx", DF_ATTR_DTYPE}}, .infer = infer_unique,
                 .workspace = unique_workspace, .run = run_unique, RUN_IN_FLOAT};

/* --- bincount ----------------------------------------------------------------------------------*/

enum { MINLENGTH, MAXLENGTH, DTYPE_OUT };

DF_ONCE(df_status, infer_bincount, (const df_call *call, df_error *err))
{
    const int64_t minimum = call->attrs[MINLENGTH].i, maximum = call->attrs[MAXLENGTH].i;
    const int64_t unknown = DF_UNKNOWN;
    df_status status = check_int(call, 0, err);
    if (status == DF_OK)
        status = check_counter(call, (df_dtype)call->attrs[DTYPE_OUT].i, "dtype", err);
    if (status != DF_OK) return status;
    if (minimum < 0 || maximum < -1)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: minlength is %lld and maxlength %lld, expected at least 0",
                       call->op->name, (long long)minimum, (long long)maximum);
    return df_tensor_set(call->out[0], (df_dtype)call->attrs[DTYPE_OUT].i, 1, &unknown,
                         call->op->name, err);
}

/* Returns the maximum of x, or -1 if x is empty or a value is negative. */
static int64_t highest(const df_tensor *x)
{
    const int32_t *narrow = x->data;
    const int64_t *wide = x->data;
    int32_t high32 = -1, low32 = 0;
    int64_t high = -1, low = 0;
    if (x->dtype == DF_I32) {
        for (int64_t i = 0; i < x->size; i++) {
            high32 = narrow[i] > high32 ? narrow[i] : high32;
            low32 = narrow[i] < low32 ? narrow[i] : low32;
        }
        return low32 < 0 ? -1 : high32;
    }
    for (int64_t i = 0; i < x->size; i++) {
        high = wide[i] > high ? wide[i] : high;
        low = wide[i] < low ? wide[i] : low;
    }
    return low < 0 ? -1 : high;
}

/* One more than the maximum of x; fails on negative values. */
static df_status find_length(const df_call *call, const df_tensor *x, const char *what,
                             int64_t *length, df_error *err)
{
    const int64_t high = highest(x);
    for (int64_t i = 0; high < 0 && i < x->size; i++) {
        const int64_t v = int_at(x, i);
        if (v < 0)
            return df_fail(err, DF_OUT_OF_RANGE,
                           "%s: element %lld of %s is %lld, expected at least 0", call->op->name,
                           (long long)i, what, (long long)v);
    }
    if (high == INT64_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: %s has the value %lld, which is too large",
                       call->op->name, what, (long long)high);
    *length = high + 1;
    return DF_OK;
}

static void add_count(df_tensor *out, int64_t v, uint32_t count)
{
    if (out->dtype == DF_I32) ((uint32_t *)out->data)[v] += count;
    else ((int64_t *)out->data)[v] += count;
}

/* Up to COUNT_TABLE counts are kept in COUNT_TABLES tables for COUNT_BLOCK elements, which do not
 * overflow them. Neighbours are counted in different tables: two increments of one number have to
 * wait for each other. */
enum { COUNT_TABLE = 512, COUNT_TABLES = 4, COUNT_BLOCK = 1 << 30 };

DF_INLINE void count_in_tables(df_tensor *out, const df_tensor *x, int64_t begin, int64_t end,
                               bool narrow)
{
    uint32_t tables[COUNT_TABLES][COUNT_TABLE + 1]; /* the last: values beyond `maxlength` */
    const uint64_t length = (uint64_t)out->size;
    const volatile int32_t *x32 = x->data;
    const volatile int64_t *x64 = x->data;
    for (int t = 0; t < COUNT_TABLES; t++) memset(tables[t], 0, (length + 1) * sizeof **tables);
    for (int64_t i = begin; i < end; i += COUNT_TABLES) {
        const int n = (int)df_min(end - i, COUNT_TABLES);
#pragma GCC unroll 4
        for (int t = 0; t < COUNT_TABLES; t++) {
            if (t >= n) break;
            const uint64_t v = narrow ? (uint64_t)x32[i + t] : (uint64_t)x64[i + t];
            tables[t][v < length ? v : length]++;
        }
    }
    for (int64_t v = 0; v < out->size; v++)
        for (int t = 0; t < COUNT_TABLES; t++) add_count(out, v, tables[t][v]);
}

static void count_values(df_tensor *out, const df_tensor *x)
{
    memset(out->data, 0, (size_t)df_tensor_bytes(out));
    for (int64_t i = 0; i < x->size; i += COUNT_BLOCK) {
        const int64_t end = df_min(x->size, i + COUNT_BLOCK);
        if (out->size > COUNT_TABLE || out->size > x->size) {
            for (int64_t k = i; k < end; k++) {
                const int64_t v = int_at(x, k);
                if ((uint64_t)v < (uint64_t)out->size) add_count(out, v, 1);
            }
        } else if (x->dtype == DF_I32) {
            count_in_tables(out, x, i, end, true);
        } else {
            count_in_tables(out, x, i, end, false);
        }
    }
}

DF_ONCE(df_status, run_bincount, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const int64_t maximum = call->attrs[MAXLENGTH].i;
    int64_t length = 0;
    df_status status = find_length(call, x, "arr", &length, err);
    if (status != DF_OK) return status;
    length = df_max(length, call->attrs[MINLENGTH].i);
    if (maximum >= 0) length = df_min(length, maximum);
    status = allocate(call, 0, 1, &length, err);
    if (status == DF_OK) count_values(call->out[0], x);
    return status;
}

DF_OP(bincount) = {.name = "bincount", .kind = DF_GENERAL, .data_dependent_shape = true,
                   .serial = true,
                   .n_in = 1, .n_out = 1, .n_attrs = 3,
                   .attrs = {{"minlength", DF_ATTR_INT}, {"maxlength", DF_ATTR_INT},
                             {"dtype", DF_ATTR_DTYPE}},
                   .infer = infer_bincount, .run = run_bincount};

/* --- confusion_matrix: rows are labels, columns predictions ------------------------------------*/

enum { NUM_CLASSES, MATRIX_DTYPE };

DF_ONCE(df_status, infer_confusion, (const df_call *call, df_error *err))
{
    const df_tensor *labels = call->in[0], *predictions = call->in[1];
    const df_dtype type = (df_dtype)call->attrs[MATRIX_DTYPE].i;
    const int64_t n = call->attrs[NUM_CLASSES].i;
    df_status status = check_int(call, 0, err);
    if (status == DF_OK) status = check_int(call, 1, err);
    if (status == DF_OK) status = check_counter(call, type, "dtype", err);
    if (status != DF_OK) return status;
    if (labels->ndim != 1 || predictions->ndim != 1 ||
        (labels->size != predictions->size && labels->size >= 0 && predictions->size >= 0))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: labels has shape %s and predictions %s, expected one dimension of the "
                       "same size", call->op->name, df_shape_text(labels->ndim, labels->shape).text,
                       df_shape_text(predictions->ndim, predictions->shape).text);
    if (n < -1 && n != DF_OPEN)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: num_classes is %lld, expected at least 0",
                       call->op->name, (long long)n);
    const int64_t size = n == DF_OPEN ? DF_UNKNOWN : n, shape[2] = {size, size};
    return df_tensor_set(call->out[0], type, 2, shape, call->op->name, err);
}

static df_status check_classes(const df_call *call, const df_tensor *x, const char *what,
                               int64_t n, df_error *err)
{
    for (int64_t i = 0; i < x->size; i++) {
        const int64_t v = int_at(x, i);
        if (v >= n)
            return df_fail(err, DF_OUT_OF_RANGE, "%s: %s[%lld] is %lld, expected 0 <= class < %lld",
                           call->op->name, what, (long long)i, (long long)v, (long long)n);
    }
    return DF_OK;
}

DF_ONCE(df_status, run_confusion, (const df_call *call, df_error *err))
{
    const df_tensor *labels = call->in[0], *predictions = call->in[1];
    df_tensor *out = call->out[0];
    int64_t n = call->attrs[NUM_CLASSES].i, n_labels = 0, n_predictions = 0;
    df_status status = find_length(call, labels, "labels", &n_labels, err);
    if (status == DF_OK)
        status = find_length(call, predictions, "predictions", &n_predictions, err);
    if (status == DF_OK && n < 0) {
        n = df_max(n_labels, n_predictions);
        const int64_t shape[2] = {n, n};
        status = allocate(call, 0, 2, shape, err);
    }
    if (status == DF_OK) status = check_classes(call, labels, "labels", n, err);
    if (status == DF_OK) status = check_classes(call, predictions, "predictions", n, err);
    if (status != DF_OK) return status;
    memset(out->data, 0, (size_t)df_tensor_bytes(out));
    for (int64_t i = 0; i < labels->size; i++) {
        const int64_t row = int_at(labels, i), column = int_at(predictions, i);
        const int64_t at = row * n + column;
        if ((uint64_t)row >= (uint64_t)n || (uint64_t)column >= (uint64_t)n) continue;
        if (out->dtype == DF_I32) ((int32_t *)out->data)[at]++;
        else ((int64_t *)out->data)[at]++;
    }
    return DF_OK;
}

DF_OP(confusion_matrix) = {.name = "confusion_matrix", .kind = DF_GENERAL,
                           .data_dependent_shape = true,
                           .serial = true,
                           .n_in = 2, .n_out = 1,
                           .n_attrs = 2,
                           .attrs = {{"num_classes", DF_ATTR_INT, .open = true},
                                     {"dtype", DF_ATTR_DTYPE}},
                           .infer = infer_confusion, .run = run_confusion};
