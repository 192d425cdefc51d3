/* Loops of optimizer.c, compiled once per floating dtype. */

#define ROOT(x) (sizeof(T) == 4 ? (T)sqrtf((float)(x)) : (T)sqrt((double)(x)))

static void FN(sgd)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0];
    const T *g = grad, lr = (T)k->lr;
    for (int64_t i = 0; i < n; i++) w[i] -= lr * g[i];
}

static void FN(momentum)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0], *m = var[1];
    const T *g = grad, lr = (T)k->lr, rate = (T)k->a;
    if (k->flag) {
        for (int64_t i = 0; i < n; i++) {
            T step = lr * g[i], next = rate * m[i] - step;
            m[i] = next;
            w[i] += rate * next - step;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            T next = rate * m[i] - lr * g[i];
            m[i] = next;
            w[i] += next;
        }
    }
}

static void FN(adam)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0], *m = var[1], *v = var[2];
    const T *g = grad, lr = (T)k->lr, a = (T)k->a, b = (T)k->b, eps = (T)k->epsilon;
    const T decay = (T)k->decay;
    for (int64_t i = 0; i < n; i++) {
        T gi = g[i], mean = m[i] + (gi - m[i]) * a, square = v[i] + (gi * gi - v[i]) * b;
        m[i] = mean;
        v[i] = square;
        w[i] = w[i] * decay - lr * mean / (ROOT(square) + eps);
    }
}

/* Uses the maximum of all mean squares, or NaN once one was NaN (Reddi et al., "On the convergence
 * of Adam and beyond", ICLR 2018). */
static void FN(amsgrad)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0], *m = var[1], *v = var[2], *v_hat = var[3];
    const T *g = grad, lr = (T)k->lr, a = (T)k->a, b = (T)k->b, eps = (T)k->epsilon;
    const T decay = (T)k->decay;
    for (int64_t i = 0; i < n; i++) {
        T gi = g[i], mean = m[i] + (gi - m[i]) * a, square = v[i] + (gi * gi - v[i]) * b;
        T largest = square <= v_hat[i] || v_hat[i] != v_hat[i] ? v_hat[i] : square;
        m[i] = mean;
        v[i] = square;
        v_hat[i] = largest;
        w[i] = w[i] * decay - lr * mean / (ROOT(largest) + eps);
    }
}

static void FN(rmsprop)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0], *v = var[1], *m = var[2];
    const T *g = grad, lr = (T)k->lr, rho = (T)k->a, rest = (T)k->b, eps = (T)k->epsilon;
    const T rate = (T)k->c;
    if (k->flag) {
        for (int64_t i = 0; i < n; i++) {
            T square = rho * v[i] + rest * g[i] * g[i];
            T next = rate * m[i] + lr * g[i] / ROOT(square + eps);
            v[i] = square;
            m[i] = next;
            w[i] -= next;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            T square = rho * v[i] + rest * g[i] * g[i];
            v[i] = square;
            w[i] -= lr * g[i] / ROOT(square + eps);
        }
    }
}

/* Uses the variance instead of the mean square (A. Graves, "Generating sequences with recurrent
 * neural networks", 2013, equations 38 to 45). */
static void FN(centered)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0], *v = var[1], *mean = var[2], *m = var[3];
    const T *g = grad, lr = (T)k->lr, rho = (T)k->a, rest = (T)k->b, eps = (T)k->epsilon;
    const T rate = (T)k->c;
    for (int64_t i = 0; i < n; i++) {
        T square = rho * v[i] + rest * g[i] * g[i], middle = rho * mean[i] + rest * g[i];
        T step = lr * g[i] / ROOT(square - middle * middle + eps);
        v[i] = square;
        mean[i] = middle;
        if (k->flag) m[i] = step = rate * m[i] + step;
        w[i] -= step;
    }
}

static void FN(adagrad)(int64_t n, void *const *var, const void *grad, const coefficients *k)
{
    T *w = var[0], *sum = var[1];
    const T *g = grad, lr = (T)k->lr, eps = (T)k->epsilon;
    for (int64_t i = 0; i < n; i++) {
        T next = sum[i] + g[i] * g[i];
        sum[i] = next;
        w[i] -= lr * g[i] / ROOT(next + eps);
    }
}

#undef ROOT
