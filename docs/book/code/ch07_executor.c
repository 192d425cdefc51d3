/* The code of docs/book/ch07_executor.md, from which docs/ext/book.py writes this file. */
#include <stdint.h>
#include <string.h>

/* The numbers of the ops. ch07_executor.py reads this list. */
enum op { ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, RELU, HEAVISIDE, N_ELEMENTWISE,
          RESHAPE = N_ELEMENTWISE, TRANSPOSE, REDUCE_SUM, MATMUL, BROADCAST_TO, CLUSTER, N_OPS };

enum { TILE = 1024, MAX_VALUES = 24, MAX_DIMS = 8 };

typedef void tile_fn(int64_t n, float *y, const float *a, const float *b);

#define TILE_FUNCTION(name, formula)                                           \
    static void name(int64_t n, float *y, const float *a, const float *b)      \
    {                                                                          \
        (void)b;                                                               \
        for (int64_t i = 0; i < n; i++) y[i] = (formula);                      \
    }
TILE_FUNCTION(add, a[i] + b[i])
TILE_FUNCTION(subtract, a[i] - b[i])
TILE_FUNCTION(multiply, a[i] * b[i])
TILE_FUNCTION(divide, a[i] / b[i])
TILE_FUNCTION(negative, -a[i])
TILE_FUNCTION(relu, a[i] < 0 ? 0 : a[i])
TILE_FUNCTION(heaviside, a[i] > 0 ? 1 : 0)

static tile_fn *const TILES[] = {[ADD] = add, [SUBTRACT] = subtract, [MULTIPLY] = multiply,
                                 [DIVIDE] = divide, [NEGATIVE] = negative, [RELU] = relu,
                                 [HEAVISIDE] = heaviside};

typedef void kernel_fn(const int64_t *w, float *const *slots);

static void elementwise(int64_t op, const int64_t *w, float *const *slots)
{
    TILES[op](w[0], slots[w[1]], slots[w[2]], slots[w[3]]);
}

static void reshape(const int64_t *w, float *const *slots)
{
    memmove(slots[w[1]], slots[w[2]], w[0] * sizeof(float));
}

static void transpose(const int64_t *w, float *const *slots)
{
    const int64_t rows = w[0], columns = w[1];
    float *y = slots[w[2]];
    const float *x = slots[w[3]];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) y[j * rows + i] = x[i * columns + j];
}

static void reduce_sum(const int64_t *w, float *const *slots)
{
    const int64_t outer = w[0], n = w[1], inner = w[2];
    float *y = slots[w[3]];
    const float *x = slots[w[4]];
    memset(y, 0, outer * inner * sizeof(float));
    for (int64_t o = 0; o < outer; o++, y += inner)
        for (int64_t k = 0; k < n; k++, x += inner)
            for (int64_t i = 0; i < inner; i++) y[i] += x[i];
}

static void matmul(const int64_t *w, float *const *slots)
{
    const int64_t m = w[0], n_terms = w[1], n = w[2];
    float *restrict y = slots[w[3]];
    const float *a = slots[w[4]], *restrict b = slots[w[5]];
    memset(y, 0, m * n * sizeof(float));
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < n_terms; k++)
            for (int64_t j = 0; j < n; j++) y[i * n + j] += a[i * n_terms + k] * b[k * n + j];
}

static void broadcast_to(const int64_t *w, float *const *slots)
{
    const int64_t ndim = w[0], *shape = w + 1, *strides = w + 1 + ndim;
    float *y = slots[w[1 + 2 * ndim]];
    const float *x = slots[w[2 + 2 * ndim]];
    int64_t index[MAX_DIMS] = {0}, n = 1;
    for (int64_t d = 0; d < ndim; d++) n *= shape[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int64_t d = 0; d < ndim; d++) at += index[d] * strides[d];
        y[i] = x[at];
        for (int64_t d = ndim - 1; d >= 0 && ++index[d] == shape[d]; d--) index[d] = 0;
    }
}

static void cluster(const int64_t *w, float *const *slots)
{
    static _Thread_local float registers[MAX_VALUES][TILE];
    const int64_t n = w[0], n_in = w[1], n_steps = w[2];
    const int64_t *in = w + 4, *is_scalar = in + n_in, *steps = is_scalar + n_in;
    const float *values[MAX_VALUES];
    for (int64_t k = 0; k < n_in; k++) {
        values[k] = registers[k];
        for (int i = 0; is_scalar[k] && i < TILE; i++) registers[k][i] = *slots[in[k]];
    }
    for (int64_t begin = 0; begin < n; begin += TILE) {
        const int64_t length = n - begin < TILE ? n - begin : TILE;
        for (int64_t k = 0; k < n_in; k++)
            if (!is_scalar[k]) values[k] = slots[in[k]] + begin;
        for (int64_t s = 0; s < n_steps; s++) {
            const int64_t *step = steps + 3 * s;
            values[n_in + s] = registers[n_in + s];
            TILES[step[0]](length, registers[n_in + s], values[step[1]], values[step[2]]);
        }
        memcpy(slots[w[3]] + begin, values[n_in + n_steps - 1], length * sizeof(float));
    }
}

static kernel_fn *const KERNELS[N_OPS] = {
    [RESHAPE] = reshape, [TRANSPOSE] = transpose, [REDUCE_SUM] = reduce_sum, [MATMUL] = matmul,
    [BROADCAST_TO] = broadcast_to, [CLUSTER] = cluster};

/* Runs the instructions in `code`, an array of n_words words. */
void run(const int64_t *code, int64_t n_words, float *const *slots)
{
    for (const int64_t *w = code; w < code + n_words; w += w[0]) {
        if (w[1] < N_ELEMENTWISE) elementwise(w[1], w + 2, slots);
        else KERNELS[w[1]](w + 2, slots);
    }
}
