/* Part of inverse.c, included once per dtype of the parts: one part per element, or two. */

static void FN(negative_identity)(int64_t n, int64_t parts, void *out)
{
    T *x = out;
    if (n > 0) memset(x, 0, (size_t)(n * n * parts) * sizeof(T));
    for (int64_t i = 0; i < n; i++) x[i * (n + 1) * parts] = -1;
}

/* Moves column j to column rows[j]; `row` is scratch memory for a row. */
static void FN(permute_columns)(int64_t n, int64_t parts, void *matrix, const int32_t *rows,
                                void *row)
{
    T *x = matrix, *moved = row;
    for (int64_t i = 0; i < n; i++, x += n * parts) {
        if (parts == 1)
            for (int64_t j = 0; j < n; j++) moved[rows[j]] = x[j];
        else
            for (int64_t j = 0; j < n; j++)
                memcpy(moved + 2 * rows[j], x + 2 * j, 2 * sizeof(T));
        memcpy(x, moved, (size_t)(n * parts) * sizeof(T));
    }
}

/* The product has the range of float64 before it is rounded. */
static void FN(det)(int64_t n, int64_t parts, const void *factors, int sign, void *out,
                    int64_t index)
{
    const T *u = factors;
    T *y = (T *)out + index * parts;
    double product = sign, imaginary = 0;
    for (int64_t i = 0; i < n; i++, u += (n + 1) * parts) {
        const double re = product;
        product *= u[0];
        if (parts == 1) continue;
        product -= imaginary * u[1];
        imaginary = imaginary * u[0] + re * u[1];
    }
    y[0] = (T)product;
    if (parts == 2) y[1] = (T)imaginary;
}

static void FN(slogdet)(int64_t n, int64_t parts, const void *factors, int sign, void *signs,
                        void *logs, int64_t index)
{
    const T *u = factors;
    T *y = (T *)signs + index * parts;
    double total_sign = sign, imaginary = 0, total = 0;
    for (int64_t i = 0; i < n; i++, u += (n + 1) * parts) {
        const double re = u[0], im = parts == 2 ? u[1] : 0;
        const double size = parts == 2 ? hypot(re, im) : fabs(re);
        total += log(size);
        if (parts == 2) {
            const double a = size == 0 ? 0 : re / size, b = size == 0 ? 0 : im / size;
            const double turned = total_sign * a - imaginary * b;
            imaginary = imaginary * a + total_sign * b;
            total_sign = turned;
        } else
            total_sign *= re > 0 ? 1 : re < 0 ? -1 : re; /* NaN stays NaN */
    }
    y[0] = (T)(total_sign + 0); /* not -0 */
    if (parts == 2) y[1] = (T)(imaginary + 0);
    ((T *)logs)[index] = (T)total;
}
