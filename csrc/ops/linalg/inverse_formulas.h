/* Part of inverse.c, included once per dtype. */

static void FN(negative_identity)(int64_t n, void *out)
{
    T *x = out;
    if (n > 0) memset(x, 0, (size_t)(n * n) * sizeof(T));
    for (int64_t i = 0; i < n; i++) x[i * (n + 1)] = -1;
}

/* Moves column j to column rows[j]; `row` is scratch memory for a row. */
static void FN(permute_columns)(int64_t n, void *matrix, const int32_t *rows, void *row)
{
    T *x = matrix, *moved = row;
    for (int64_t i = 0; i < n; i++, x += n) {
        for (int64_t j = 0; j < n; j++) moved[rows[j]] = x[j];
        memcpy(x, moved, (size_t)n * sizeof(T));
    }
}

/* The product has the range of float64 before it is rounded. */
static void FN(det)(int64_t n, const void *factors, int sign, void *out, int64_t index)
{
    const T *u = factors;
    double product = sign;
    for (int64_t i = 0; i < n; i++) product *= u[i * (n + 1)];
    ((T *)out)[index] = (T)product;
}

static void FN(slogdet)(int64_t n, const void *factors, int sign, void *signs, void *logs,
                        int64_t index)
{
    const T *u = factors;
    double total_sign = sign, total = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = u[i * (n + 1)];
        total_sign *= x > 0 ? 1 : x < 0 ? -1 : x; /* NaN stays NaN */
        total += log(fabs(x));
    }
    ((T *)signs)[index] = (T)(total_sign + 0); /* not -0 */
    ((T *)logs)[index] = (T)total;
}
