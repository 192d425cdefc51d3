/* QR factors by Householder reflections, a panel of columns at a time: the product of its
 * reflections is I - V T V^T (R. Schreiber and C. Van Loan, "A storage-efficient WY representation
 * for products of Householder transformations", 1989), so that the other columns are transformed by
 * matrix products. V^T is kept, with contiguous rows. */
#include "factor/factor.h"
#include "gemm/gemm.h"
#include "simd/lanes.h"
#include <math.h>

enum { PANEL = 32, UNROLLED = 4 }; /* columns of a panel; rows of V^T at a time */
#define UNROLL _Pragma("GCC unroll 4")

/* A panel of `width` columns and `rows` rows. */
typedef struct {
    int64_t width, rows, ld; /* elements between rows of the matrix */
    int64_t height;          /* elements between rows of V^T */
    char *a, *v, *t;         /* columns of the matrix; V^T; T, PANEL elements per row */
} panel;

#define TEMPLATE "factor/qr_formulas.h"
#define DTYPE f32
#include TEMPLATE
#undef DTYPE
#if DF_BUILT_F64
#define DTYPE f64
#include TEMPLATE
#undef DTYPE
#endif
#undef TEMPLATE

/* Scratch memory: the matrix, V^T, T of all panels, and two products of PANEL rows. */
typedef struct {
    df_dtype dtype;
    int64_t bytes, m, n, k, columns, height; /* columns of Q */
    int64_t a_bytes, v_bytes, t_bytes, product_bytes;
    char *a, *v, *t, *product[2], *workspace;
} factoring;

static int64_t whole_lines(int64_t bytes) { return df_ceil_div(bytes, 64) * 64; }

static factoring sizes_of(df_dtype dtype, int64_t m, int64_t n, int64_t columns)
{
    factoring f = {.dtype = dtype, .bytes = df_dtypes[dtype].bytes, .m = m, .n = n,
                   .k = df_min(m, n), .columns = columns};
    /* An odd number of cache lines: no power of two separates elements of a column. */
    f.height = (df_ceil_div(m * f.bytes, 64) | 1) * 64 / f.bytes;
    f.a_bytes = whole_lines(m * n * f.bytes);
    f.v_bytes = f.k * f.height * f.bytes;
    f.t_bytes = df_ceil_div(f.k, PANEL) * PANEL * PANEL * f.bytes;
    f.product_bytes = whole_lines(PANEL * df_max(n, columns) * f.bytes);
    return f;
}

/* The products that transform a matrix C with `n` columns by a panel:
 * W = V^T C, W' = -op(T) W, C += V W'. */
static void products_of(const factoring *f, const panel *p, int64_t n, int64_t ld, bool transpose,
                        df_gemm products[3])
{
    products[0] = (df_gemm){.dtype = f->dtype, .m = p->width, .n = n, .k = p->rows,
                            .lda = f->height, .ldb = ld, .ldc = n};
    products[1] = (df_gemm){.dtype = f->dtype, .transpose_a = transpose, .m = p->width, .n = n,
                            .k = p->width, .lda = PANEL, .ldb = n, .ldc = n};
    products[2] = (df_gemm){.dtype = f->dtype, .transpose_a = true, .accumulate = true,
                            .m = p->rows, .n = n, .k = p->width, .lda = f->height, .ldb = n,
                            .ldc = ld};
}

static void transform(const factoring *f, const panel *p, char *c, int64_t n, int64_t ld,
                      bool transpose)
{
    df_gemm products[3];
    if (n == 0) return;
    products_of(f, p, n, ld, transpose, products);
    products[0].a = products[2].a = p->v;
    products[0].b = products[2].c = c;
    products[0].c = f->product[0];
    products[1].a = p->t;
    products[1].b = f->product[0];
    products[1].c = f->product[1];
    products[2].b = f->product[1];
    for (int i = 0; i < 3; i++) DF_SYM(df_gemm)(&products[i], f->workspace);
}

static panel panel_at(const factoring *f, int64_t begin)
{
    return (panel){.width = df_min(PANEL, f->k - begin), .rows = f->m - begin, .ld = f->n,
                   .height = f->height};
}

/* A panel with pointers to its memory; its matrix begins at element (begin, begin). */
static panel memory_of(const factoring *f, int64_t begin)
{
    panel p = panel_at(f, begin);
    p.a = f->a + begin * (f->n + 1) * f->bytes;
    p.v = f->v + begin * f->height * f->bytes;
    p.t = f->t + begin * PANEL * f->bytes;
    return p;
}

static void factor_columns(const factoring *f)
{
    for (int64_t begin = 0; begin < f->k; begin += PANEL) {
        const panel p = memory_of(f, begin);
        (f->dtype == DF_F32 ? factor_panel_f32 : DF_HAS(F64, factor_panel_f64))(&p);
        transform(f, &p, p.a + p.width * f->bytes, f->n - begin - p.width, f->n, true);
    }
}

/* Q is the product of all reflections with the identity, the last panel first: before a panel is
 * applied, rows and columns before it still equal the identity. */
static void form_q(const factoring *f, char *q)
{
    (f->dtype == DF_F32 ? identity_f32 : DF_HAS(F64, identity_f64))(q, f->m, f->columns);
    for (int64_t begin = (f->k - 1) / PANEL * PANEL; begin >= 0 && f->k > 0; begin -= PANEL) {
        const panel p = memory_of(f, begin);
        transform(f, &p, q + begin * (f->columns + 1) * f->bytes, f->columns - begin, f->columns,
                  false);
    }
}

static void copy_r(const factoring *f, char *r)
{
    const int64_t row = f->n * f->bytes;
    if (f->columns * row > 0) memset(r, 0, (size_t)(f->columns * row)); /* an empty one is NULL */
    for (int64_t i = 0; i < f->k; i++)
        memcpy(r + i * row + i * f->bytes, f->a + i * row + i * f->bytes,
               (size_t)(row - i * f->bytes));
}

void DF_SYM(df_qr)(df_dtype dtype, int64_t m, int64_t n, int64_t columns, const void *a, void *q,
                   void *r, void *workspace)
{
    factoring f = sizes_of(dtype, m, n, columns);
    f.a = workspace;
    f.v = f.a + f.a_bytes;
    f.t = f.v + f.v_bytes;
    f.product[0] = f.t + f.t_bytes;
    f.product[1] = f.product[0] + f.product_bytes;
    f.workspace = f.product[1] + f.product_bytes;
    if (m * n > 0) memcpy(f.a, a, (size_t)(m * n * f.bytes));
    factor_columns(&f);
    form_q(&f, q);
    copy_r(&f, r);
}

int64_t DF_SYM(df_qr_workspace)(df_dtype dtype, int64_t m, int64_t n, int64_t columns)
{
    const factoring f = sizes_of(dtype, m, n, columns);
    int64_t most = 0;
    for (int64_t begin = 0; begin < f.k; begin += PANEL) {
        const panel p = panel_at(&f, begin);
        df_gemm products[6];
        products_of(&f, &p, n - begin - p.width, n, true, products);
        products_of(&f, &p, columns - begin, columns, false, products + 3);
        for (int i = 0; i < 6; i++)
            if (products[i].n > 0) most = df_max(most, DF_SYM(df_gemm_workspace)(&products[i]));
    }
    return f.a_bytes + f.v_bytes + f.t_bytes + 2 * f.product_bytes + whole_lines(most);
}
