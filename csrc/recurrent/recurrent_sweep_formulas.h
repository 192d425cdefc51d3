/* Included once per floating dtype: the loops over the steps of a task's rows. A few steps share
 * one product with the inputs and, backward, one with the cotangents of these products. */

/* --- forward ---------------------------------------------------------------------------------- */

static void FN(add_bias)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    for (int64_t j = 0, n; j < s->of->inputs.width; j++) {
        const int64_t u = FN(column_of)(&s->of->inputs, p, j, &n);
        if (n == 0) return;
        FN(store_upto)(
            s->z + i * s->of->ldz + u,
            FN(load)(tile + j * LANES) + FN(load_upto)((const T *)s->of->r.bias + u, n), n);
    }
}

static void FN(forward)(FN(step) *s)
{
    const recurrence *of = s->of;
    const int64_t units = of->r.units;
    switch (of->r.cell) {
    case DF_LSTM: FN(product)(s, &of->first, s->rows, s->h, units, FN(lstm)); break;
    case DF_GRU_AFTER: FN(product)(s, &of->first, s->rows, s->h, units, FN(gru_after)); break;
    case DF_GRU_BEFORE:
        FN(product)(s, &of->first, s->rows, s->h, units, FN(gru_before_gates));
        FN(product)(s, &of->second, s->rows, s->d, of->ldd, FN(gru_before));
        break;
    default: FN(product)(s, &of->first, s->rows, s->h, units, FN(rnn)); break;
    }
    T *h = s->h;
    s->h = s->h_new;
    s->h_new = h;
}

/* The rows of a task, with memory for `chunk` steps. */
DF_INLINE FN(step) FN(rows_of)(const recurrence *of, int64_t task)
{
    const int64_t rows = of->r.rows;
    FN(step) s = {.of = of, .row0 = task * rows / of->tasks};
    s.rows = (task + 1) * rows / of->tasks - s.row0;
    const int64_t at = of->at_once ? task * of->chunk * of->task_rows : s.row0 * of->chunk;
    s.z = (T *)of->z + at * of->ldz;
    s.d = (T *)of->d + at * of->ldd;
    s.a = (T *)of->a + at * of->lda;
    return s;
}

/* The time step of step k of the loop; the backward loop counts down. */
DF_INLINE int64_t FN(time_of)(const df_recurrence *r, int64_t k)
{
    return r->reverse ? r->steps - 1 - k : k;
}

static void FN(forward_task)(void *context, int64_t begin, int64_t end)
{
    const recurrence *of = context;
    const df_recurrence *r = &of->r;
    const int64_t units = r->units, features = r->features;
    for (int64_t task = begin; task < end; task++) {
        FN(step) s = FN(rows_of)(of, task);
        T *z = s.z;
        const int64_t at = s.row0 * units, bytes = s.rows * units * (int64_t)sizeof(T);
        s.h = (T *)of->h + at;
        s.h_new = (T *)of->h_new + at;
        s.c = (T *)of->c + at;
        memcpy(s.h, (const T *)r->h0 + at, bytes);
        if (r->c0) memcpy(s.c, (const T *)r->c0 + at, bytes);
        for (int64_t k = 0; k < r->steps; k++) {
            s.t = FN(time_of)(r, k);
            if (k % of->chunk == 0) {
                FN(step) all = s;
                const int64_t n = df_min(of->chunk, r->steps - k);
                all.z = z;
                for (int64_t j = 0; j < n; j++) {
                    all.t = FN(time_of)(r, k + j);
                    for (int64_t i = 0; i < s.rows; i++)
                        memcpy(s.a + (j * s.rows + i) * of->lda,
                               FN(outer_row)(r->x, &all, i, features), features * sizeof(T));
                }
                FN(product)(&all, &of->inputs, n * s.rows, s.a, of->lda, FN(add_bias));
            }
            s.z = z + k % of->chunk * s.rows * of->ldz;
            FN(forward)(&s);
        }
        memcpy((T *)r->last_h + at, s.h, bytes);
        if (r->c0) memcpy((T *)r->last_c + at, s.c, bytes);
    }
}

/* --- backward --------------------------------------------------------------------------------- */

/* Adds the cotangent that the recurrent product propagates to that of the previous state. */
static void FN(add_state_grad)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    if (FN(held)(s, i)) return;
    for (int64_t j = 0, n; j < s->of->first.width; j++) {
        T *dh = s->h + i * s->of->r.units + FN(column_of)(&s->of->first, p, j, &n);
        if (n == 0) return;
        FN(store_upto)(dh, FN(load_upto)(dh, n) + FN(load)(tile + j * LANES), n);
    }
}

static void FN(put_input_grad)(const FN(step) *s, int64_t i, int64_t p, const T *tile)
{
    const int64_t features = s->of->r.features;
    T *dx = FN(outer_row)(s->of->r.d_x, s, i, features);
    for (int64_t j = 0, n; j < s->of->inputs.width; j++) {
        const int64_t u = FN(column_of)(&s->of->inputs, p, j, &n);
        FN(store_upto)(dx + u, FN(load)(tile + j * LANES), n);
    }
}

/* Stores the left operands of the kernel gradients; zeros for steps in which x is not read. */
DF_INLINE void FN(put_inputs)(const FN(step) *s, int64_t i)
{
    const df_recurrence *r = &s->of->r;
    T *a = s->a + i * s->of->lda;
    memcpy(a, FN(outer_row)(r->x, s, i, r->features), r->features * sizeof(T));
    a[r->features] = 1;
    memcpy(a + r->features + 1, FN(state_before)(s, i), r->units * sizeof(T));
    a[r->features + 1 + r->units] = 1;
}

static void FN(backward)(FN(step) *s)
{
    const recurrence *of = s->of;
    const df_recurrence *r = &of->r;
    const int64_t width = df_cell_gates(r->cell) * r->units;
    for (int64_t i = 0; i < s->rows; i++) {
        if (FN(held)(s, i)) {
            memset(s->z + i * of->ldz, 0, width * sizeof(T));
            memset(s->d + i * of->ldd, 0, of->ldd * sizeof(T));
            memset(s->a + i * of->lda, 0, of->lda * sizeof(T));
            continue;
        }
        FN(put_inputs)(s, i);
        if (r->cell == DF_LSTM) FN(lstm_grad)(s, i);
        else if (df_cell_gates(r->cell) == 3) FN(gru_grad)(s, i);
        else FN(rnn_grad)(s, i);
    }
    if (r->cell == DF_GRU_BEFORE)
        FN(product)(s, &of->second, s->rows, s->z + 2 * r->units, of->ldz, FN(gru_reset_grad));
    if (r->cell == DF_GRU_AFTER)
        FN(product)(s, &of->first, s->rows, s->d, of->ldd, FN(add_state_grad));
    else
        FN(product)(s, &of->first, s->rows, s->z, of->ldz, FN(add_state_grad));
    if (r->wants_x)
        FN(product)(s, &of->inputs, s->rows, s->z, of->ldz, FN(put_input_grad));
}

/* Adds the products of the last n rows to the sums of the task, or initialises the sums unless
 * `more`. */
static void FN(add_kernel_grads)(const FN(step) *s, bool more, int64_t n, T *sums)
{
    const recurrence *of = s->of;
    for (int i = 0; i < of->n_products; i++) {
        const kernel_product *p = &of->products[i];
        const T *b = p->of_d ? s->d : s->z, *a = p->from_d ? s->d : s->a;
        FN(add_product)(more, n, a + p->a, p->from_d ? of->ldd : of->lda, p->m, b + p->b,
                        p->of_d ? of->ldd : of->ldz, p->n, sums + p->row * of->ldz + p->column,
                        of->ldz);
    }
}

static void FN(backward_task)(void *context, int64_t begin, int64_t end)
{
    const recurrence *of = context;
    const df_recurrence *r = &of->r;
    const int64_t units = r->units;
    for (int64_t task = begin; task < end; task++) {
        const FN(step) all = FN(rows_of)(of, task);
        const int64_t at = all.row0 * units, bytes = all.rows * units * (int64_t)sizeof(T);
        T *sums = (T *)of->sums + task * of->sum_rows * of->ldz;
        FN(step) s = all;
        s.h = (T *)r->d_h0 + at;
        s.c = r->g_c ? (T *)r->d_c0 + at : NULL;
        memcpy(s.h, (const T *)r->g_h + at, bytes);
        if (r->g_c) memcpy(s.c, (const T *)r->g_c + at, bytes);
        if (of->at_once && r->steps == 0) memset(sums, 0, of->sum_rows * of->ldz * sizeof(T));
        for (int64_t k = 0; k < r->steps; k++) {
            const int64_t row = k % of->chunk * s.rows;
            s.t = FN(time_of)(r, r->steps - 1 - k);
            s.z = all.z + row * of->ldz;
            s.d = all.d + row * of->ldd;
            s.a = all.a + row * of->lda;
            FN(backward)(&s);
            if (of->at_once && (k + 1 == r->steps || (k + 1) % of->chunk == 0))
                FN(add_kernel_grads)(&all, k >= of->chunk, row + s.rows, sums);
        }
    }
}

/* Sums rows [begin, end) over the tasks, in order, and stores them in the gradients. */
static void FN(total_task)(void *context, int64_t begin, int64_t end)
{
    const recurrence *of = context;
    const df_recurrence *r = &of->r;
    const int64_t width = df_cell_gates(r->cell) * r->units, features = r->features;
    for (int64_t i = begin; i < end; i++) {
        T *sum = (T *)of->sums + i * of->ldz;
        for (int64_t task = 1; of->at_once && task < of->tasks; task++) {
            const T *more = sum + task * of->sum_rows * of->ldz;
            for (int64_t j = 0; j < width; j++) sum[j] += more[j];
        }
        if (i < features)
            memcpy((T *)r->d_kernel + i * width, sum, width * sizeof(T));
        else if (i == features)
            memcpy(r->d_bias, sum, width * sizeof(T));
        else if (i <= features + r->units)
            memcpy((T *)r->d_recurrent + (i - features - 1) * width, sum, width * sizeof(T));
        else if (r->cell == DF_GRU_BEFORE)
            memset(r->d_inner_bias, 0, r->units * sizeof(T));
        else if (r->cell == DF_GRU_AFTER)
            memcpy(r->d_inner_bias, sum + 2 * r->units, r->units * sizeof(T));
    }
}
