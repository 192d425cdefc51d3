/* The functions of reduction.h for all dtypes that this build has. */
#ifndef DF_REDUCTIONS_H
#define DF_REDUCTIONS_H

#include "ops/elementwise/elementwise.h"

#define TEMPLATE "ops/reduction/reduction.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

#endif
