/* The vector formulas of ops for all dtypes, for generated code; the `formula` of a record names
 * one of them. A new file of formulas is included here if some op in it costs less than
 * DF_INLINE_COST. */
#ifndef DF_FORMULAS_H
#define DF_FORMULAS_H

#include "ops/strip.h"
#include "ops/elementwise/cast_formulas.h"

#define TEMPLATE "ops/elementwise/activation_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/arithmetic_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/bitwise_formulas.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define DTYPE u8
#include "ops/elementwise/bitwise_bools_formulas.h"
#undef DTYPE
#define TEMPLATE "ops/elementwise/compare_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/division_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/exponential_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/hyperbolic_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/limits_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/relu_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/rounding_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/special_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/elementwise/trigonometric_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/nn/batch_norm_elementwise_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/nn/softmax_elementwise_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/reduction/reduce_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

#endif
