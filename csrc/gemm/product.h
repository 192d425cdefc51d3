/* One product that gemv does not compute, k > 0; of complex numbers, by df_gemm_of_parts. Internal
 * to this folder. */
#ifndef DF_GEMM_PRODUCT_H
#define DF_GEMM_PRODUCT_H

#include "gemm/kernel.h"

#include <stdatomic.h>

/* The partition of a product, and the part in progress. */
typedef struct {
    const df_gemm *g;
    const gemm_kernel *kernel, *kernel_b; /* kernel_b: of the dtype of B, which it packs */
    const char *a, *b;
    char *c;
    int64_t bytes, lanes; /* bytes of an element of C or a group; elements per vector */
    int64_t in_bytes; /* of an element of A and B */
    int64_t group;    /* elements along k per step of the kernel */
    int64_t width;    /* of all column panels but the last one or two: at most GEMM_COLS vectors */
    int64_t n_panels;
    int64_t last;     /* column where the last panel starts */
    int64_t depth;    /* of k at a time */
    int64_t steps;    /* of k between two prefetches of C, and of B if the next panel is copied */
    bool packs_a, copies_b;
    bool is_complex; /* the sizes of `g` are those of the parts (complex_products.h) */
    int64_t packs_from; /* each job packs panels of B from this one on; n_panels: none */
    int64_t packed_a_bytes, slot_bytes, n_slots;
    char *packed_a, *slots;
    _Atomic uint64_t *free_slots; /* one bit per slot */
    double mac_ns; /* estimated time of one multiply-add */
    int64_t batch_row; /* first row of C in the batch */
    int64_t row0, rows, k0, k; /* part in progress: all, or the packed part of A */
    bool by_rows; /* each thread has its own range of rows */
    int64_t job_rows, job_panels;
} gemm_product;

/* A quick test: true if the product needs no workspace; false if only a plan can tell. */
bool DF_SYM(df_product_packs_nothing)(const df_gemm *g);

/* Packs all of B, panel by panel along all of k; see df_gemm_pack. */
int64_t DF_SYM(df_product_packed_bytes)(const df_gemm *g);
void DF_SYM(df_product_pack)(const df_gemm *g, void *packed);

/* Plans a product; its pointers are set for each run. */
void DF_SYM(df_product_plan)(gemm_product *t, const df_gemm *g);
int64_t DF_SYM(df_product_workspace)(const gemm_product *t);
/* Runs the product on the thread pool, or in one piece on this thread
 * (df_product_can_run_whole). */
void DF_SYM(df_product_run)(gemm_product *t, void *workspace);
void DF_SYM(df_product_run_whole)(gemm_product *t, void *workspace);
bool DF_SYM(df_product_can_run_whole)(const gemm_product *t);

#endif
