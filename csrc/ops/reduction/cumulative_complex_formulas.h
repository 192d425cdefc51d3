/* Loops of cumulative.c over complex numbers, whose parts are neighbouring columns. Included once
 * per complex dtype. */
static void CN(cumprod_block)(void *out, const void *const *in, const block_shape *s)
{
    ACC product[BLOCK_COLUMNS];
    for (int64_t o = 0; o < s->outer; o++) {
        const T *x = (const T *)in[0] + o * s->outer_step;
        T *y = (T *)out + o * s->outer_step;
        for (int64_t c = 0; c < s->cols; c++) product[c] = c % 2 == 0;
        for (int64_t k = 0; k < s->n; k++, x += s->step, y += s->step)
            for (int64_t c = 0; c < s->cols; c += 2) {
                const ACC re = product[c], im = product[c + 1];
                product[c] = re * x[c] - im * x[c + 1];
                product[c + 1] = re * x[c + 1] + im * x[c];
                y[c] = (T)(s->exclusive ? re : product[c]);
                y[c + 1] = (T)(s->exclusive ? im : product[c + 1]);
            }
    }
}

static void CN(recurrence_block)(void *out, const void *const *in, const block_shape *s)
{
    for (int64_t o = 0; o < s->outer; o++) {
        const T *a = (const T *)in[0] + o * s->outer_step;
        const T *b = (const T *)in[1] + o * s->outer_step;
        T *y = (T *)out + o * s->outer_step;
        for (int64_t c = 0; c < s->cols; c++) y[c] = s->exclusive ? 0 : b[c];
        for (int64_t k = 1; k < s->n; k++, y += s->step) {
            const T *plus = b + (s->exclusive ? k - 1 : k) * s->step, *by = a + (k - 1) * s->step;
            T *next = y + s->step;
            for (int64_t c = 0; c < s->cols; c += 2) {
                next[c] = plus[c] + (by[c] * y[c] - by[c + 1] * y[c + 1]);
                next[c + 1] = plus[c + 1] + (by[c] * y[c + 1] + by[c + 1] * y[c]);
            }
        }
    }
}
