/* Memory, packing and parallelisation of recurrent layers. Products are in recurrent_formulas.h,
 * the cells in recurrent_cells_formulas.h, the loops over steps in recurrent_sweep_formulas.h. */
#include "recurrent/recurrent.h"
#include "base/thread.h"
#include "gemm/gemm.h"
#include "simd/lanes.h"
#include "simd/vmath.h"

/* Registers for the sums, a row of the right operand and one element: 6 x 4 of 32, or 3 x 4 of
 * 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define ROWS 6
#else
#define ROWS 3
#endif
#define WIDTH 4 /* vectors per panel */
#define UNROLL _Pragma("GCC unroll 8")
#define PACKED_ROWS 16 /* rows of a matrix that are packed at a time: they fit L1 or L2 */
#define TASK_ROWS 12  /* rows per read of a panel from L2 */
#define MANY_TASKS 16 /* tasks with separate sums, at most */
#define CHUNK_ROWS 96 /* rows, over several steps, of one product with the inputs */
#define SUM_BYTES (1 << 20) /* kernels up to this size have separate gradient sums per task: half of
                             * L2 */

/* Strides of two operands of a product. */
typedef struct {
    int64_t k, a_row, a_step, b_row;
} factors;

/* The right operand of a product, k x (groups * n), and its packed panels. Element (i, j) is at
 * from[i * k_step + j * column_step]; one of the steps is 1. */
typedef struct {
    const void *from;
    int64_t k, k_step, column_step;
    int64_t groups; /* a panel has one vector of each group; with one group, adjacent vectors */
    int64_t n;      /* columns per group */
    int64_t width, panels;
    char *packed;
} matrix;

/* A part of the kernel gradients: columns of `a` (or d) times columns of z (or d), at a row and
 * column of the sums. */
typedef struct {
    bool from_d, of_d;
    int64_t a, m, b, n, row, column;
} kernel_product;

typedef struct {
    df_recurrence r;
    int64_t t_step, b_step; /* row distance of steps and of sequences */
    int64_t n_residuals;    /* df_cell_residuals */
    int64_t tasks, task_rows;       /* number of tasks of about equal size; rows of the largest */
    int64_t chunk;                  /* steps per product with the inputs */
    bool at_once;                   /* the task computes these products chunk by chunk */
    matrix inputs, first, second;
    int64_t lda, ldz, ldd;
    char *h, *h_new, *c, *a, *z, *d;
    kernel_product products[3];
    int n_products;
    int64_t sum_rows;               /* F + 1 + H + 1: kernel, bias, recurrent kernel, inner bias */
    char *sums, *gemm;
} recurrence;

#define DTYPE f32
#include "recurrent/recurrent_formulas.h"
#include "recurrent/recurrent_cells_formulas.h"
#include "recurrent/recurrent_sweep_formulas.h"
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include "recurrent/recurrent_formulas.h"
#include "recurrent/recurrent_cells_formulas.h"
#include "recurrent/recurrent_sweep_formulas.h"
#undef DTYPE
#endif

typedef struct {
    df_task pack, forward, backward, total;
} kernels;

static const kernels KERNELS[DF_N_DTYPES] = {
    [DF_F32] = {pack_task_f32, forward_task_f32, backward_task_f32, total_task_f32},
    DF_OF_ALL(F64, {pack_task_f64, forward_task_f64, backward_task_f64, total_task_f64}),
};

/* --- memory ----------------------------------------------------------------------------------- */

/* An allocator for scratch memory; without memory it only counts the bytes. */
typedef struct {
    char *memory;
    int64_t used;
} scratch;

/* p + bytes; p may be NULL if only sizes are needed. */
static char *at(const void *p, int64_t bytes) { return p ? (char *)p + bytes : NULL; }

static char *take(scratch *from, int64_t bytes)
{
    char *block = at(from->memory, from->used);
    from->used += df_ceil_div(bytes, DF_ALIGNMENT) * DF_ALIGNMENT;
    return block;
}

static int64_t bytes_of(const df_recurrence *r) { return df_dtypes[r->dtype].bytes; }
static int64_t width_of(const df_recurrence *r) { return df_cell_gates(r->cell) * r->units; }

/* Columns [column, column + groups * n) of a kernel: k x GH or, transposed, n x k. */
DF_NOINLINE matrix matrix_of(const df_recurrence *r, const void *kernel, int64_t column,
                             int64_t groups, int64_t n, int64_t k, bool transposed, scratch *from)
{
    const int64_t bytes = bytes_of(r), vectors = df_ceil_div(n, DF_VEC_BYTES / bytes);
    matrix m = {.from = at(kernel, column * bytes), .k = k, .groups = groups, .n = n};
    m.k_step = transposed ? 1 : width_of(r);
    m.column_step = transposed ? width_of(r) : 1;
    m.width = groups > 1 ? groups : df_min(WIDTH, vectors);
    m.panels = groups > 1 ? vectors : df_ceil_div(vectors, WIDTH);
    m.packed = take(from, m.panels * m.width * DF_VEC_BYTES * m.k);
    return m;
}

/* Rounds up to whole vectors, plus one, so that rows are not a multiple of a page apart. */
static int64_t padded(const df_recurrence *r, int64_t n)
{
    const int64_t lanes = DF_VEC_BYTES / bytes_of(r);
    return (df_ceil_div(n, lanes) + 1) * lanes;
}

/* The setup common to forward and backward. */
static recurrence cut(const df_recurrence *r)
{
    recurrence of = {.r = *r, .n_residuals = df_cell_residuals(r->cell)};
    of.t_step = r->time_major ? r->rows : 1;
    of.b_step = r->time_major ? 1 : r->steps;
    of.tasks = df_min(df_ceil_div(r->rows, TASK_ROWS), MANY_TASKS);
    if (of.tasks % 2 && r->rows > DF_SERIAL_ROWS) of.tasks++; /* usually two or four threads */
    of.task_rows = df_ceil_div(r->rows, df_max(of.tasks, 1));
    of.chunk = df_max(1, df_min(r->steps, CHUNK_ROWS / df_max(of.task_rows, 1)));
    of.at_once = true;
    of.ldz = padded(r, width_of(r));
    return of;
}

/* Lays out the matrices of one kernel in the forward pass. */
DF_NOINLINE void lay_out_kernel(recurrence *of, bool recurrent, scratch *to)
{
    const df_recurrence *r = &of->r;
    const bool before = r->cell == DF_GRU_BEFORE;
    const int64_t units = r->units, groups = before ? 2 : df_cell_gates(r->cell);
    if (!recurrent) {
        of->inputs = matrix_of(r, r->kernel, 0, 1, width_of(r), r->features, false, to);
        return;
    }
    of->first = matrix_of(r, r->recurrent, 0, groups, units, units, false, to);
    if (before) of->second = matrix_of(r, r->recurrent, 2 * units, 1, units, units, false, to);
}

static recurrence lay_out(const df_recurrence *r, scratch *from)
{
    recurrence of = cut(r);
    const int64_t bytes = bytes_of(r), states = r->rows * r->units * bytes;
    const int64_t rows = of.tasks * of.chunk * of.task_rows;
    scratch kernel = {at(r->kernel, 0), 0}, recurrent = {at(r->recurrent, 0), 0};
    of.lda = r->features;
    of.ldd = r->cell == DF_GRU_BEFORE ? r->units : 0;
    lay_out_kernel(&of, false, r->packed ? &kernel : from);
    lay_out_kernel(&of, true, r->packed ? &recurrent : from);
    of.h = take(from, states);
    of.h_new = take(from, states);
    of.c = take(from, r->cell == DF_LSTM ? states : 0);
    of.a = take(from, rows * of.lda * bytes);
    of.z = take(from, rows * of.ldz * bytes);
    of.d = take(from, rows * of.ldd * bytes);
    return of;
}

/* Sets the operands of each part of the kernel gradients; h of a GRU has separate ones. */
static void set_products(recurrence *of)
{
    const df_recurrence *r = &of->r;
    const int64_t units = r->units, inputs = r->features + 1;
    kernel_product *p = of->products;
    if (df_cell_gates(r->cell) != 3) {
        p[0] = (kernel_product){.m = inputs + units, .n = width_of(r)};
        of->n_products = 1;
        return;
    }
    of->n_products = 3;
    p[0] = (kernel_product){.m = inputs, .n = 3 * units};
    p[1] = (kernel_product){.a = inputs, .m = units, .n = 2 * units, .row = inputs};
    p[2] = (kernel_product){.b = 2 * units, .n = units, .row = inputs, .column = 2 * units};
    if (r->cell == DF_GRU_AFTER) {
        p[2].of_d = true;
        p[2].a = inputs;
        p[2].m = units + 1;
    } else {
        p[2].from_d = true;
        p[2].m = units;
    }
}

/* Lays out the memory of the backward pass. If the kernels are too large for sums per task, the
 * kernel products run after all tasks. */
static recurrence lay_out_grad(const df_recurrence *r, scratch *from)
{
    recurrence of = cut(r);
    const int64_t bytes = bytes_of(r), units = r->units;
    const bool before = r->cell == DF_GRU_BEFORE, after = r->cell == DF_GRU_AFTER;
    of.sum_rows = r->features + units + 2;
    of.at_once = of.sum_rows * of.ldz * bytes <= SUM_BYTES;
    if (!of.at_once) of.chunk = r->steps;
    const int64_t rows = of.at_once ? of.tasks * of.chunk * of.task_rows : r->rows * r->steps;
    of.lda = of.sum_rows;
    of.ldd = after ? padded(r, 3 * units) : before ? padded(r, units) : 0;
    if (r->wants_x) of.inputs = matrix_of(r, r->kernel, 0, 1, r->features, width_of(r), true, from);
    of.first = matrix_of(r, r->recurrent, 0, 1, units, before ? 2 * units : width_of(r), true,
                         from);
    if (before) of.second = matrix_of(r, r->recurrent, 2 * units, 1, units, units, true, from);
    of.a = take(from, rows * of.lda * bytes);
    of.z = take(from, rows * of.ldz * bytes);
    of.d = take(from, rows * of.ldd * bytes);
    of.sums = take(from, (of.at_once ? df_max(of.tasks, 1) : 1) * of.sum_rows * of.ldz * bytes);
    of.gemm = at(from->memory, from->used);
    set_products(&of);
    return of;
}

/* A part of the kernel gradients, over all steps of all rows. */
static df_gemm whole_product(const recurrence *of, const kernel_product *p)
{
    const int64_t bytes = bytes_of(&of->r);
    return (df_gemm){.dtype = of->r.dtype, .transpose_a = true, .m = p->m, .n = p->n,
                     .k = of->r.steps * of->r.rows,
                     .a = at(p->from_d ? of->d : of->a, p->a * bytes),
                     .b = at(p->of_d ? of->d : of->z, p->b * bytes),
                     .c = at(of->sums, (p->row * of->ldz + p->column) * bytes),
                     .lda = p->from_d ? of->ldd : of->lda, .ldb = p->of_d ? of->ldd : of->ldz,
                     .ldc = of->ldz};
}

/* --- execution -------------------------------------------------------------------------------- */

static double task_cost(const recurrence *of)
{
    const df_recurrence *r = &of->r;
    const double lanes = (double)(DF_VEC_BYTES / bytes_of(r));
    const double macs = (double)width_of(r) * (double)(r->units + r->features + 16);
    return (double)r->steps * (double)of->task_rows * macs * 0.125 / lanes;
}

static void pack(const recurrence *of, matrix *m)
{
    const double cost = 0.3 * (double)m->k * (double)(m->width * DF_VEC_BYTES / 4);
    df_parallel_for(m->panels, 1, cost, KERNELS[of->r.dtype].pack, m);
}

/* Packs the matrices that are laid out. */
static void pack_matrices(recurrence *of)
{
    pack(of, &of->inputs);
    pack(of, &of->first);
    pack(of, &of->second);
}

int64_t DF_SYM(df_recurrence_pack)(const df_recurrence *r, bool recurrent, void *to)
{
    recurrence of = {.r = *r};
    scratch memory = {to, 0};
    lay_out_kernel(&of, recurrent, &memory);
    if (to) pack_matrices(&of);
    return memory.used;
}

int64_t DF_SYM(df_recurrence_workspace)(const df_recurrence *r)
{
    scratch count = {0};
    lay_out(r, &count);
    return count.used;
}

void DF_SYM(df_recurrence_run)(const df_recurrence *r, void *workspace)
{
    scratch from = {workspace, 0};
    recurrence of = lay_out(r, &from);
    if (r->rows == 0 || r->units == 0) return;
    if (!r->packed) pack_matrices(&of);
    df_parallel_for(of.tasks, 1, task_cost(&of), KERNELS[r->dtype].forward, &of);
}

int64_t DF_SYM(df_recurrence_grad_workspace)(const df_recurrence *r)
{
    scratch count = {0};
    const recurrence of = lay_out_grad(r, &count);
    int64_t bytes = 0;
    for (int i = 0; !of.at_once && i < of.n_products; i++) {
        const df_gemm g = whole_product(&of, &of.products[i]);
        bytes = df_max(bytes, DF_SYM(df_gemm_workspace)(&g));
    }
    return count.used + bytes;
}

void DF_SYM(df_recurrence_grad)(const df_recurrence *r, void *workspace)
{
    scratch from = {workspace, 0};
    recurrence of = lay_out_grad(r, &from);
    const int64_t sum_bytes = of.sum_rows * of.ldz * bytes_of(r);
    if (r->units == 0) {
        if (r->wants_x) memset(r->d_x, 0, r->steps * r->rows * r->features * bytes_of(r));
        return;
    }
    if (!of.at_once || of.tasks == 0) memset(of.sums, 0, sum_bytes);
    if (r->rows) {
        pack_matrices(&of);
        df_parallel_for(of.tasks, 1, 2 * task_cost(&of), KERNELS[r->dtype].backward, &of);
    }
    for (int i = 0; !of.at_once && i < of.n_products; i++) {
        const df_gemm g = whole_product(&of, &of.products[i]);
        DF_SYM(df_gemm)(&g, of.gemm);
    }
    const double cost = 0.1 * (double)(of.ldz * df_max(of.tasks, 1));
    df_parallel_for(of.sum_rows, 8, cost, KERNELS[r->dtype].total, &of);
}
