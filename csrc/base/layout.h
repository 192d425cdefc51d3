/* Conversion of foreign memory to the layout of tensors: strided arrays, the other byte order,
 * bools that are neither 0 nor 1. */
#ifndef DF_LAYOUT_H
#define DF_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Copies elements of 1, 2, 4 or 8 bytes to dense memory. Strides are in bytes and may be 0 or
 * negative; elements need not be aligned. */
void df_copy_strided(void *to, const void *from, int bytes, int ndim, const int64_t *shape,
                     const int64_t *strides);
/* Reverses the bytes of each of n elements. */
void df_swap_bytes(void *data, int64_t n, int bytes);
/* Foreign bools may hold any byte value; kernels rely on 0 and 1. */
bool df_are_bools(const uint8_t *p, int64_t n);
void df_normalize_bools(uint8_t *p, int64_t n);

#endif
