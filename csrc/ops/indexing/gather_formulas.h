/* Copies single elements of the width of DTYPE; the compiler uses gather instructions. */
static void FN(pick)(void *to, const void *from, const int64_t *rows, int64_t n)
{
    const T *x = from;
    T *y = to;
    for (int64_t j = 0; j < n; j++) y[j] = x[rows[j]];
}
