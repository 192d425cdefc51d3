/* Recognition of tile code that kernels of products can apply in registers. */
#ifndef DF_OPS_FINISH_H
#define DF_OPS_FINISH_H

#include "gemm/epilogue.h"
#include "op/op.h"

/* `call` is a cluster on a product, its input 0. Returns false if its code is not a chain of steps
 * on the product, each with an operand that a kernel can repeat. */
bool DF_SYM(df_finish_of)(const df_call *call, df_finish *finish);

#endif
