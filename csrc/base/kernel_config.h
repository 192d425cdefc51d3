/* The dtypes and features that this build has kernels for: all. An export replaces this file by one
 * in which unused entries are 0; their table entries are then empty (aot/runtime.py rewrites the
 * lines by name). */
#ifndef DF_KERNEL_CONFIG_H
#define DF_KERNEL_CONFIG_H

#define DF_BUILT_BOOL 1
#define DF_BUILT_U8 1
#define DF_BUILT_U16 1
#define DF_BUILT_U32 1
#define DF_BUILT_U64 1
#define DF_BUILT_I8 1
#define DF_BUILT_I16 1
#define DF_BUILT_I32 1
#define DF_BUILT_I64 1
#define DF_BUILT_F16 1
#define DF_BUILT_BF16 1
#define DF_BUILT_F32 1 /* always */
#define DF_BUILT_F64 1
#define DF_BUILT_C64 1
#define DF_BUILT_C128 1

/* Dtypes with kernels for matrix products, which are the largest. */
#define DF_PRODUCT_U8 1
#define DF_PRODUCT_U32 1
#define DF_PRODUCT_U64 1
#define DF_PRODUCT_I8 1
#define DF_PRODUCT_I32 1
#define DF_PRODUCT_I64 1
#define DF_PRODUCT_F16 1
#define DF_PRODUCT_BF16 1
#define DF_PRODUCT_F32 1
#define DF_PRODUCT_F64 1
#define DF_PRODUCT_C64 1  /* requires the kernels of float32 */
#define DF_PRODUCT_C128 1 /* requires the kernels of float64 */

#define DF_BUILT_ROWS 1   /* row updates of variables: the ops <op>_rows of optimizer.c */
#define DF_BUILT_CHECKS 1 /* runs that check for NaNs and infinities */

#endif
