/* One product that is not left to gemv, with k > 0. Used in this folder alone. */
#ifndef DF_GEMM_PRODUCT_H
#define DF_GEMM_PRODUCT_H

#include "gemm/kernel.h"

#include <stdatomic.h>

/* How one product is cut, and the pieces being worked on. */
typedef struct {
    const df_gemm *g;
    const gemm_kernel *kernel;
    const char *a, *b;
    char *c;
    int64_t bytes, lanes; /* of an element of C, or of a group; elements of a vector */
    int64_t in_bytes; /* of an element of A and B */
    int64_t group;    /* elements along k that the kernel takes at once */
    int64_t width;    /* of a column panel but the last one or two: GEMM_COLS vectors or less */
    int64_t n_panels;
    int64_t last;     /* column where the last panel starts */
    int64_t depth;    /* of k at a time */
    int64_t steps;    /* of k between two fetches of C, and of B where the next panel is copied */
    bool packs_a, copies_b;
    int64_t packs_from; /* panels of B from this on are packed, by each job; n_panels: none */
    int64_t packed_a_bytes, slot_bytes, n_slots;
    char *packed_a, *slots;
    _Atomic uint64_t *free_slots; /* a bit for each */
    double mac_ns; /* estimated time of one multiply-add */
    int64_t batch_row; /* row of the batch where C starts */
    int64_t row0, rows, k0, k; /* worked on: all of it, or what of A is packed */
    bool by_rows; /* each thread takes rows of its own */
    int64_t job_rows, job_panels;
} gemm_product;

/* Known at a glance: it wants no workspace. False where that takes a plan to know. */
bool DF_SYM(df_product_packs_nothing)(const df_gemm *g);

/* All of B, panel by panel along all of k; see df_gemm_pack. */
int64_t DF_SYM(df_product_packed_bytes)(const df_gemm *g);
void DF_SYM(df_product_pack)(const df_gemm *g, void *packed);

/* Cuts a product; its pointers are to be set for each run. */
void DF_SYM(df_product_plan)(gemm_product *t, const df_gemm *g);
int64_t DF_SYM(df_product_workspace)(const gemm_product *t);
/* Runs it on the thread pool, or as one piece on this thread, which must be `whole`. */
void DF_SYM(df_product_run)(gemm_product *t, void *workspace);
void DF_SYM(df_product_run_whole)(gemm_product *t, void *workspace);
bool DF_SYM(df_product_can_run_whole)(const gemm_product *t);

#endif
