/* Recurrent layers run over whole sequences, and back: for float32 and float64. Knows blocks of
 * memory, no tensors and no ops. Compiled once per SIMD level.
 *
 * T steps, B rows (sequences), F features, H units, G gates; all blocks are dense and row-major.
 * Rows are independent of each other, so threads take rows and need not wait for each other at any
 * step. What a few steps of these rows make stays in the caches of its core: the products with the
 * inputs are never all in memory, nor are their gradients where the kernels are small. */
#ifndef DF_RECURRENT_H
#define DF_RECURRENT_H

#include "base/dtype.h"
#include "op/op.h"

/* Gates are in Keras's order: LSTM i, f, c, o; GRU z, r, h. In a GRU the reset gate multiplies
 * either the state before the recurrent product or the product after it. */
typedef enum { DF_RNN_TANH, DF_RNN_RELU, DF_LSTM, DF_GRU_BEFORE, DF_GRU_AFTER } df_cell;

static inline int df_cell_gates(df_cell cell)
{
    return cell == DF_LSTM ? 4 : cell == DF_GRU_BEFORE || cell == DF_GRU_AFTER ? 3 : 1;
}

/* Numbers kept per unit and step for the gradient, besides the outputs. */
static inline int df_cell_kept(df_cell cell)
{
    return df_cell_gates(cell) == 1 ? 0 : df_cell_gates(cell) + 1;
}

/* Steps go from 0 up or, if `reverse`, from T - 1 down. A row takes part in the first lengths[row]
 * of T; at other steps its state stays as it is, its output is zero, and x is not looked at.
 * x, out and their gradients are T x B x ..., or B x T x ... unless `time_major`. */
typedef struct {
    df_cell cell;
    df_dtype dtype;
    bool reverse, time_major;
    int64_t steps, rows, features, units;
    const int64_t *lengths; /* B, each from 0 to T */
    const void *x;          /* F for each step and row */
    const void *kernel;     /* F x GH */
    const void *recurrent;  /* H x GH */
    const void *bias;       /* GH */
    const void *inner_bias; /* H, of the recurrent product of a GRU's h; DF_GRU_AFTER */
    const void *h0, *c0;    /* B x H; c here and below only for LSTM */
    void *out;              /* H for each step and row */
    void *last_h, *last_c;  /* B x H */
    void *kept;             /* T x B x (df_cell_kept x H), private */
    /* The gradient reads all of these but the biases and, unless it wants_x, the kernel. */
    const void *g_out, *g_h, *g_c;
    bool wants_x; /* d_x, too, is made */
    void *d_x, *d_kernel, *d_recurrent, *d_bias, *d_inner_bias, *d_h0, *d_c0;
} df_recurrence;

/* Bytes of scratch memory; pointers are not used, so they may be called early. */
int64_t DF_SYM(df_recurrence_workspace)(const df_recurrence *r);
int64_t DF_SYM(df_recurrence_grad_workspace)(const df_recurrence *r);

/* `workspace` is aligned to 64 bytes. They run on the thread pool when the work is worth it. */
void DF_SYM(df_recurrence_run)(const df_recurrence *r, void *workspace);
void DF_SYM(df_recurrence_grad)(const df_recurrence *r, void *workspace);

#endif
