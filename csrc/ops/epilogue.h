/* Elementwise steps that run on the pieces of a product while they are in cache: the common part of
 * matmul_cluster and conv_cluster. Independent of the kernels of products. */
#ifndef DF_EPILOGUE_H
#define DF_EPILOGUE_H

#include "gemm/epilogue.h"
#include "op/op.h"

/* Describes an op with at least one output that multiplies its first inputs. Its attribute `code`
 * is tile code in which value 0 is the product and the other values are the remaining
 * inputs, whose shapes must broadcast to that of the product. The functions concern only the
 * product. */
typedef struct {
    int n_in; /* inputs of the product */
    int code;
    df_status (*infer)(const df_call *call, df_error *err);
    int64_t (*workspace)(const df_call *call);
    /* Precomputes state for many runs, to be freed; may be NULL. */
    df_status (*prepare)(const df_call *call, void **prepared, df_error *err);
    /* Computes the product at `to`, with the epilogue, which is df_epilogue_piece. */
    void (*run)(const df_call *call, const void *prepared, void *to, df_product_epilogue epilogue,
                void *workspace);
} df_product;

/* A df_gemm_epilogue. */
void DF_SYM(df_epilogue_piece)(const void *context, int64_t row, int64_t rows, int64_t col0,
                               int64_t cols, void *c, int64_t ldc);

/* For the fields of the record. */
int DF_SYM(df_epilogue_count_out)(const df_product *product, const df_call *call);
df_status DF_SYM(df_epilogue_infer)(const df_product *product, const df_call *call, df_error *err);
int64_t DF_SYM(df_epilogue_workspace)(const df_product *product, const df_call *call);
df_status DF_SYM(df_epilogue_prepare)(const df_product *product, const df_call *call,
                                      void **prepared, df_error *err);
void DF_SYM(df_epilogue_release)(void *prepared);
df_status DF_SYM(df_epilogue_compile)(const df_product *product, const df_call *call,
                                      void *prepared, df_ints layout, df_compiled_fn fn,
                                      df_error *err);
df_status DF_SYM(df_epilogue_run)(const df_product *product, const df_call *call, df_error *err);

/* Defines the functions of the record of such an op, and their fields. */
#define EPILOGUE(of, n_in, code, infer, workspace, prepare, run)                                 \
    static const df_product PRODUCT_##of = {n_in, code, infer, workspace, prepare, run};         \
    static df_status infer_cluster_##of(const df_call *call, df_error *err)                      \
    { return DF_SYM(df_epilogue_infer)(&PRODUCT_##of, call, err); }                              \
    static int count_cluster_##of(const df_call *call)                                           \
    { return DF_SYM(df_epilogue_count_out)(&PRODUCT_##of, call); }                               \
    static int64_t workspace_cluster_##of(const df_call *call)                                   \
    { return DF_SYM(df_epilogue_workspace)(&PRODUCT_##of, call); }                               \
    static df_status prepare_cluster_##of(const df_call *call, void **prepared, df_error *err)   \
    { return DF_SYM(df_epilogue_prepare)(&PRODUCT_##of, call, prepared, err); }                  \
    static df_status compile_cluster_##of(const df_call *call, void *prepared, df_ints layout,   \
                                          df_compiled_fn fn, df_error *err)                      \
    { return DF_SYM(df_epilogue_compile)(&PRODUCT_##of, call, prepared, layout, fn, err); }      \
    static df_status run_cluster_##of(const df_call *call, df_error *err)                        \
    { return DF_SYM(df_epilogue_run)(&PRODUCT_##of, call, err); }
#define EPILOGUE_OP(of)                                                                          \
    .kind = DF_GENERAL, .cannot_fail = true, .internal = true, .n_in = DF_VARIADIC,              \
    .n_out = DF_VARIADIC, .count_out = count_cluster_##of, .infer = infer_cluster_##of,          \
    .workspace = workspace_cluster_##of, .run = run_cluster_##of,                                \
    .prepare = prepare_cluster_##of, .compile = compile_cluster_##of,                            \
    .release = DF_SYM(df_epilogue_release)

#endif
