/* Which dtypes this build has kernels of: all. What is made for certain programs has another such
 * file, with 0 for those that they do not use: then their entries in tables are empty. */
#ifndef DF_BUILT_H
#define DF_BUILT_H

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

/* Of which it computes products of matrices, whose kernels are the largest. */
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

#define DF_BUILT_ROWS 1   /* updates of variables by rows, the <op>_rows of optimizer.c */
#define DF_BUILT_CHECKS 1 /* runs that look for NaNs and infinities */

#endif
