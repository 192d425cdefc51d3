/* Recurrent layers over whole sequences, forward and backward, for float32 and float64. Called by
 * ops/nn/recurrent.c. Works on memory, without tensors or ops. Compiled once per SIMD level.
 *
 * T steps, B rows (sequences), F features, H units, G gates; all arrays are dense and row-major.
 * Rows are independent, so each thread takes some rows and no thread waits for another between
 * steps. The intermediate results of a few steps of these rows stay in the caches of the core: the
 * products with the inputs are never all in memory, nor are their gradients if the kernels are
 * small. */
#ifndef DF_RECURRENT_H
#define DF_RECURRENT_H

#include "base/dtype.h"
#include "op/op.h"

/* The number of rows that one thread computes. */
#define DF_SERIAL_ROWS 5

/* Gates are in the order of Keras: LSTM i, f, c, o; GRU z, r, h. In a GRU the reset gate multiplies
 * either the state before the recurrent product or the product after it. */
typedef enum { DF_RNN_TANH, DF_RNN_RELU, DF_LSTM, DF_GRU_BEFORE, DF_GRU_AFTER } df_cell;

static inline int df_cell_gates(df_cell cell)
{
    return cell == DF_LSTM ? 4 : cell == DF_GRU_BEFORE || cell == DF_GRU_AFTER ? 3 : 1;
}

/* Residuals per unit and step, in addition to the outputs. */
static inline int df_cell_residuals(df_cell cell)
{
    return df_cell_gates(cell) == 1 ? 0 : df_cell_gates(cell) + 1;
}

/* Steps run from 0 up or, if `reverse`, from T - 1 down. A row takes part in the first lengths[row]
 * of T steps; in other steps its state is unchanged, its output is zero, and x is not read. x, out
 * and their gradients are T x B x ... if `time_major`, otherwise B x T x ... */
typedef struct {
    df_cell cell;
    df_dtype dtype;
    bool reverse, time_major;
    bool packed; /* df_recurrence_pack wrote `kernel` and `recurrent`; forward only */
    int64_t steps, rows, features, units;
    const int64_t *lengths; /* B, each from 0 to T */
    const void *x;          /* F elements per step and row */
    const void *kernel;     /* F x GH */
    const void *recurrent;  /* H x GH */
    const void *bias;       /* GH */
    const void *inner_bias; /* H, for the recurrent product of h in a GRU; DF_GRU_AFTER */
    const void *h0, *c0;    /* B x H; c0, and c below, only for LSTM */
    void *out;              /* H elements per step and row */
    void *last_h, *last_c;  /* B x H */
    void *residuals;        /* T x B x (df_cell_residuals x H), internal layout */
    /* The gradient reads all of these except the biases and, unless wants_x, the kernel. */
    const void *g_out, *g_h, *g_c;
    bool wants_x; /* compute d_x */
    void *d_x, *d_kernel, *d_recurrent, *d_bias, *d_inner_bias, *d_h0, *d_c0;
} df_recurrence;

/* Packs a kernel for the forward pass and returns the number of bytes; `recurrent` selects the
 * kernel. If `to` is NULL, only returns the number. The order of elements depends on the cell, the
 * dtype, features, units and the SIMD level. `to` is aligned to 64 bytes. */
int64_t DF_SYM(df_recurrence_pack)(const df_recurrence *r, bool recurrent, void *to);

/* Bytes of scratch memory. Ignores the pointers, so they may be set later. */
int64_t DF_SYM(df_recurrence_workspace)(const df_recurrence *r);
int64_t DF_SYM(df_recurrence_grad_workspace)(const df_recurrence *r);

/* `workspace` is aligned to 64 bytes. Uses the thread pool if the work is large enough. */
void DF_SYM(df_recurrence_run)(const df_recurrence *r, void *workspace);
void DF_SYM(df_recurrence_grad)(const df_recurrence *r, void *workspace);

#endif
