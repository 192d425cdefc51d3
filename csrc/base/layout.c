#include "base/layout.h"

#include "base/tensor.h"

#include <string.h>

/* Copies n elements that are `stride` bytes apart. */
static void copy_row(char *to, const char *from, int bytes, int64_t n, int64_t stride)
{
    if (stride == bytes)
        memcpy(to, from, (size_t)(n * bytes));
    else if (bytes == 1)
        for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];
    else if (bytes == 2)
        for (int64_t i = 0; i < n; i++) memcpy(to + 2 * i, from + i * stride, 2);
    else if (bytes == 4)
        for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i, from + i * stride, 4);
    else if (bytes == 8)
        for (int64_t i = 0; i < n; i++) memcpy(to + 8 * i, from + i * stride, 8);
    else
        for (int64_t i = 0; i < n; i++) memcpy(to + 16 * i, from + i * stride, 16);
}

/* Copies all elements in row-major order. Requires ndim >= 1 and dimensions >= 1. */
static void copy_rows(char *to, const char *from, int bytes, int ndim, const int64_t *shape,
                      const int64_t *strides)
{
    int64_t index[DF_MAX_NDIM + 1] = {0}, row = shape[ndim - 1];
    for (;;) {
        copy_row(to, from, bytes, row, strides[ndim - 1]);
        to += row * bytes;
        int d = ndim - 2;
        for (; d >= 0; d--) {
            from += strides[d];
            if (++index[d] < shape[d]) break;
            from -= strides[d] * shape[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

/* Adjacent dimensions are merged if one stride covers both. */
void df_copy_strided(void *to, const void *from, int bytes, int ndim, const int64_t *shape,
                     const int64_t *strides)
{
    int64_t dims[DF_MAX_NDIM + 1] = {1}, steps[DF_MAX_NDIM + 1] = {bytes};
    int n = 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) return;
        if (shape[d] == 1) continue;
        if (n && steps[n - 1] == strides[d] * shape[d]) {
            dims[n - 1] *= shape[d];
            steps[n - 1] = strides[d];
        } else {
            dims[n] = shape[d];
            steps[n++] = strides[d];
        }
    }
    copy_rows(to, from, bytes, n ? n : 1, dims, steps);
}

void df_swap_bytes(void *data, int64_t n, int bytes)
{
    char *p = data;
    for (int64_t i = 0; i < n; i++, p += bytes) {
        for (int a = 0, b = bytes - 1; a < b; a++, b--) {
            char c = p[a];
            p[a] = p[b];
            p[b] = c;
        }
    }
}

bool df_are_bools(const uint8_t *p, int64_t n)
{
    uint8_t seen = 0;
    for (int64_t i = 0; i < n; i++) seen |= p[i];
    return seen <= 1;
}

void df_normalize_bools(uint8_t *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = p[i] != 0;
}
