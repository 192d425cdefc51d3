/* Search for NaN and infinities. A float is not finite if all bits of its exponent are set, and a
 * NaN if other bits of its magnitude are set too. A block of finite floats, the usual case, takes
 * one vectorised pass. */
#include "base/numerics.h"

#define BLOCK 4096 /* elements per vectorised pass */

/* Masks of the exponent and of the whole magnitude, in the width of an element. */
typedef struct {
    uint64_t exponent, magnitude;
} layout;

static layout layout_of(df_dtype dtype)
{
    switch (dtype) {
    case DF_F16: return (layout){0x7C00, 0x7FFF};
    case DF_BF16: return (layout){0x7F80, 0x7FFF};
    case DF_F32: return (layout){0x7F800000, 0x7FFFFFFF};
    default: return (layout){0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF};
    }
}

static bool any_16(const uint16_t *x, int64_t n, uint16_t exponent)
{
    uint16_t found = 0;
    for (int64_t i = 0; i < n; i++) found |= (uint16_t)((x[i] & exponent) == exponent);
    return found;
}

static bool any_32(const uint32_t *x, int64_t n, uint32_t exponent)
{
    uint32_t found = 0;
    for (int64_t i = 0; i < n; i++) found |= (x[i] & exponent) == exponent;
    return found;
}

static bool any_64(const uint64_t *x, int64_t n, uint64_t exponent)
{
    uint64_t found = 0;
    for (int64_t i = 0; i < n; i++) found |= (x[i] & exponent) == exponent;
    return found;
}

static bool any(const void *data, int bytes, int64_t at, int64_t n, uint64_t exponent)
{
    if (bytes == 2) return any_16((const uint16_t *)data + at, n, (uint16_t)exponent);
    if (bytes == 4) return any_32((const uint32_t *)data + at, n, (uint32_t)exponent);
    return any_64((const uint64_t *)data + at, n, exponent);
}

static uint64_t bits(const void *data, int bytes, int64_t i)
{
    if (bytes == 2) return ((const uint16_t *)data)[i];
    if (bytes == 4) return ((const uint32_t *)data)[i];
    return ((const uint64_t *)data)[i];
}

df_nonfinite df_find_nonfinite(const df_tensor *x)
{
    df_nonfinite found = {.first = -1};
    const df_dtype part = df_real_dtype(x->dtype);
    const int bytes = df_dtypes[part].bytes, parts = df_is_complex(x->dtype) ? 2 : 1;
    const layout l = layout_of(part);
    if (!df_is_inexact(x->dtype)) return found;
    for (int64_t at = 0; at < x->size * parts; at += BLOCK) {
        const int64_t end = df_min(at + BLOCK, x->size * parts);
        if (!any(x->data, bytes, at, end - at, l.exponent)) continue;
        for (int64_t i = at; i < end; i++) {
            uint64_t magnitude = bits(x->data, bytes, i) & l.magnitude;
            if (magnitude < l.exponent) continue;
            if (found.first < 0) found.first = i / parts;
            if (magnitude > l.exponent) found.n_nan++;
            else found.n_inf++;
        }
    }
    return found;
}
