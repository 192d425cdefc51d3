/* The loop of scatter.c that multiplies complex numbers. Included once per complex dtype. */
static void CN(scatter_mul)(const scatter_part *p)
{
    for (int64_t j = 0; j < p->n; j++) {
        const int64_t r = p->rows[j];
        if (r < p->begin_row || r >= p->end_row) continue;
        T *to = (T *)p->table + r * p->inner;
        const T *by = (const T *)p->updates + j * p->inner;
        for (int64_t i = p->begin_col; i < p->end_col; i += 2) {
            const T re = to[i], im = to[i + 1];
            to[i] = re * by[i] - im * by[i + 1];
            to[i + 1] = re * by[i + 1] + im * by[i];
        }
    }
}
