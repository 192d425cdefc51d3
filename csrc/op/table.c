/* The table of one SIMD level, compiled once per level from ops.def. */
#include "op/op.h"

#define OP(name) extern DF_OP(name);
#include "op/ops.def"
#undef OP

extern const df_op *const DF_SYM(df_optable)[];
const df_op *const DF_SYM(df_optable)[] = {
#define OP(name) &DF_SYM(df_op_##name),
#include "op/ops.def"
#undef OP
    NULL};
