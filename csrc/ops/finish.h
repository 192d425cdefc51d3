/* Recognition of tile code that kernels of products can apply in registers. */
#ifndef DF_OPS_FINISH_H
#define DF_OPS_FINISH_H

#include "gemm/epilogue.h"
#include "op/op.h"

/* Reads the steps of `call`, a cluster whose input 0 is a product. `finish` has no steps if the
 * code is not a chain on the product, or if a kernel cannot repeat the operand of a step. */
void DF_SYM(df_finish_of)(const df_call *call, df_finish *finish);

#endif
