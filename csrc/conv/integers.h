/* Convolutions of int8 and uint8 with int32 sums, which wrap around. */
#ifndef DF_CONV_INTEGERS_H
#define DF_CONV_INTEGERS_H

#include "conv/conv.h"

/* Like a df_conv of dtype int8 or uint8, that of x, whose padding is `zero`; y is int32. */
typedef struct {
    df_conv c;
    df_dtype w_dtype;
    const void *x, *w;
    uint8_t zero; /* the bits of the element of x */
    int32_t *y;
    df_product_epilogue epilogue; /* only pieces, of whole rows */
} df_conv_integers;

/* Bytes of scratch memory, aligned to 64 bytes; -1 if more than 64 bits can count. Ignores the
 * pointers. */
int64_t DF_SYM(df_conv_integers_workspace)(const df_conv_integers *t);
/* Uses the thread pool. */
void DF_SYM(df_conv_integers)(const df_conv_integers *t, void *workspace);

#endif
