/* Shapes of tensors: setting them with checked sizes, comparing them, formatting them for
 * messages. */
#include "base/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void df_tensor_init(df_tensor *t)
{
    t->data = NULL;
    t->size = 1;
    t->shape = t->dims; /* no entry is used at rank 0 */
    t->buffer = NULL;
    t->dtype = DF_F32;
    t->ndim = 0;
}

static df_status fail_too_many(int ndim, const int64_t *shape, const char *op, df_error *err)
{
    return df_fail(err, DF_OVERFLOW, "%s: shape %s has more elements than 64 bits can count", op,
                   df_shape_text(ndim, shape).text);
}

/* Number of elements of `shape`; DF_UNKNOWN if a dimension is unknown, DF_TOO_MANY if it exceeds 64
 * bits: such a tensor can be described but not allocated. Zeros are left out of the checked
 * product, so that no product of a subset of the dimensions can overflow in a kernel. */
static df_status count_elements(int ndim, const int64_t *shape, const char *op, int64_t *size,
                                df_error *err)
{
    int64_t product = 1;
    bool empty = false, unknown = false, fits = true;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < DF_UNKNOWN)
            return df_fail(err, DF_BAD_SHAPE, "%s: shape %s has a negative dimension", op,
                           df_shape_text(ndim, shape).text);
        if (shape[i] == 0) empty = true;
        else if (shape[i] == DF_UNKNOWN) unknown = true;
        else fits = fits && df_mul_size(product, shape[i], &product);
    }
    if (!fits && (unknown || empty)) return fail_too_many(ndim, shape, op, err);
    *size = unknown ? DF_UNKNOWN : empty ? 0 : fits ? product : DF_TOO_MANY;
    return DF_OK;
}

df_status df_tensor_set(df_tensor *t, df_dtype dtype, int ndim, const int64_t *shape,
                        const char *op, df_error *err)
{
    int64_t size = 0, *dims = t->dims;
    if (ndim < 0 || ndim > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: %d dimensions, expected 0 to %d", op, ndim,
                       DF_MAX_NDIM);
    df_status status = count_elements(ndim, shape, op, &size, err);
    if (status != DF_OK) return status;
    if (ndim > DF_INLINE_NDIM) {
        dims = malloc((size_t)ndim * sizeof *dims);
        if (!dims)
            return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for a shape of %d dimensions", op,
                           ndim);
    }
    if (t->shape != t->dims) free(t->shape);
    for (int i = 0; i < ndim; i++) dims[i] = shape[i];
    t->shape = dims;
    t->ndim = ndim;
    t->dtype = dtype;
    t->size = size;
    return DF_OK;
}

df_status df_tensor_alloc(df_tensor *t, const char *op, df_error *err)
{
    if (t->size == DF_TOO_MANY) return fail_too_many(t->ndim, t->shape, op, err);
    if (df_tensor_bytes(t) == INT64_MAX)
        return df_fail(err, DF_OVERFLOW, "%s: %s of shape %s has more bytes than 64 bits can count",
                       op, df_dtypes[t->dtype].name, df_shape_text(t->ndim, t->shape).text);
    df_buffer *buffer = df_buffer_new(df_tensor_bytes(t));
    if (!buffer)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %s, %lld bytes", op,
                       df_tensor_text(t).text, (long long)df_tensor_bytes(t));
    df_buffer_release(t->buffer);
    t->buffer = buffer;
    t->data = buffer->data;
    return DF_OK;
}

void df_tensor_clear(df_tensor *t)
{
    df_buffer_release(t->buffer);
    if (t->shape != t->dims) free(t->shape);
    df_tensor_init(t);
}

bool df_may_be_same_shape(const df_tensor *a, const df_tensor *b)
{
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i] && a->shape[i] >= 0 && b->shape[i] >= 0) return false;
    return true;
}

/* Appends the shape as a Python tuple to `text`; a long shape ends with "...". */
static void append_shape(df_text *text, int ndim, const int64_t *shape)
{
    static const char cut[] = "...)";
    size_t at = strlen(text->text);
    text->text[at++] = '(';
    for (int i = 0; i < ndim; i++) {
        char item[32]; /* 20 characters for a number, and punctuation */
        const char *after = i + 1 < ndim ? ", " : ndim == 1 ? ",)" : ")";
        if (shape[i] == DF_UNKNOWN) snprintf(item, sizeof item, "?%s", after);
        else snprintf(item, sizeof item, "%lld%s", (long long)shape[i], after);
        size_t length = strlen(item);
        if (at + length + sizeof cut > DF_TEXT_BYTES) {
            memcpy(text->text + at, cut, sizeof cut);
            return;
        }
        memcpy(text->text + at, item, length);
        at += length;
    }
    if (ndim == 0) text->text[at++] = ')';
    text->text[at] = '\0';
}

df_text df_shape_text(int ndim, const int64_t *shape)
{
    df_text text = {""};
    append_shape(&text, ndim, shape);
    return text;
}

df_text df_tensor_text(const df_tensor *t)
{
    df_text text;
    snprintf(text.text, sizeof text.text, "%s ", df_dtypes[t->dtype].name);
    append_shape(&text, t->ndim, t->shape);
    return text;
}

df_status df_normalize_axis(int64_t axis, int ndim, const char *op, int *out, df_error *err)
{
    if (ndim == 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: axis %lld of a scalar, which has no axes", op,
                       (long long)axis);
    if (axis == DF_OPEN) axis = 0; /* any axis is valid */
    if (axis < -ndim || axis >= ndim)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: axis %lld of %d dimensions, expected %d to %d", op, (long long)axis,
                       ndim, -ndim, ndim - 1);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return DF_OK;
}
