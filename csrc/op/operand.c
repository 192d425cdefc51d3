/* Broadcasting of operands, see operand.h. */
#include "op/operand.h"

#include <string.h>

static void reverse(int64_t *v, int n)
{
    for (int i = 0, j = n - 1; i < j; i++, j--) {
        int64_t t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}

void df_operand_set(df_operand_walk *o, const df_tensor *x, const df_tensor *out,
                    df_operand_dims *dims)
{
    *o = (df_operand_walk){.bytes = df_dtypes[x->dtype].bytes, .mode = DF_WALK,
                           .extent = dims->extent, .step = dims->step};
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
    if (o->ndim == 0 || (o->ndim == 1 && o->step[0] != 0)) o->mode = DF_DIRECT;
    else if (o->ndim == 1) o->mode = DF_PERIODIC, o->period = 1;
    else if (o->ndim == 2 && o->step[0] != 0) o->mode = DF_PERIODIC, o->period = o->extent[0];
    reverse(o->extent, o->ndim);
    reverse(o->step, o->ndim);
}

void df_fill(void *to, const void *value, int bytes, int64_t n)
{
    switch (bytes) {
    case 1: memset(to, *(const uint8_t *)value, (size_t)n); break;
    case 2: for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = *(const uint16_t *)value; break;
    case 4: for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = *(const uint32_t *)value; break;
    case 8: for (int64_t i = 0; i < n; i++) ((uint64_t *)to)[i] = *(const uint64_t *)value; break;
    default: for (int64_t i = 0; i < n; i++) memcpy((char *)to + i * bytes, value, (size_t)bytes);
    }
}

const void *df_operand_load(const df_operand_walk *o, const char *data, int64_t begin, int64_t n,
                            void *buffer)
{
    char *to = buffer;
    int64_t index[DF_MAX_NDIM];
    int64_t at = 0, rest = begin;
    int last = o->ndim - 1;
    if (o->period == 1) {
        df_fill(to, data, o->bytes, n);
        return to;
    }
    if (n == 0) return to;
    for (int d = last; d >= 0; d--) {
        index[d] = rest % o->extent[d];
        rest /= o->extent[d];
        at += index[d] * o->step[d];
    }
    if (o->step[last] && index[last] + n <= o->extent[last]) return data + at * o->bytes;
    for (int64_t done = 0; done < n;) {
        int64_t run = df_min(o->extent[last] - index[last], n - done);
        const char *from = data + at * o->bytes;
        if (o->step[last]) memcpy(to + done * o->bytes, from, (size_t)(run * o->bytes));
        else df_fill(to + done * o->bytes, from, o->bytes, run);
        done += run;
        index[last] += run;
        at += run * o->step[last];
        for (int d = last; d > 0 && index[d] == o->extent[d]; d--) { /* carry to the next
                                                                      * dimension */
            at += o->step[d - 1] - o->extent[d] * o->step[d];
            index[d] = 0;
            index[d - 1]++;
        }
    }
    return to;
}

int64_t df_common_multiple(int64_t a, int64_t b, int64_t limit)
{
    int64_t x = a, y = b, multiple;
    while (y) { /* greatest common divisor */
        int64_t r = x % y;
        x = y, y = r;
    }
    return df_mul_size(a / x, b, &multiple) && multiple <= limit ? multiple : limit + 1;
}
