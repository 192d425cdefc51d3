/* The functions of reduction.h for all dtypes that this build has. */
#ifndef DF_REDUCTIONS_H
#define DF_REDUCTIONS_H

#include "ops/elementwise/elementwise.h"

/* Bytes of the adjacent rows that reduce_apart reduces at once: a cache line. */
#define DF_APART_BYTES (DF_VEC_BYTES < 64 ? 64 : DF_VEC_BYTES)

#define TEMPLATE "ops/reduction/reduction.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

#endif
