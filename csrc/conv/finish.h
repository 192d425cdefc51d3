/* Elementwise steps that kernels apply to finished float32 sums before these are stored: a bias, a
 * residual, an activation. They have the same bits as the tile functions of their ops. */
#ifndef DF_CONV_FINISH_H
#define DF_CONV_FINISH_H

#include <stdint.h>

typedef enum {
    DF_FINISH_ADD, DF_FINISH_MULTIPLY,
    DF_FINISH_MAXIMUM, DF_FINISH_MINIMUM, /* the sum is the first operand */
    DF_FINISH_RELU,
} df_finish_kind;

/* How often an operand is repeated: one number, one per column (output channel), or none. */
typedef enum { DF_FINISH_ONE, DF_FINISH_PER_COLUMN, DF_FINISH_PER_ELEMENT } df_finish_operand;

#define DF_FINISH_MAX 8

typedef struct {
    df_finish_kind kind;
    df_finish_operand operand;
    int input; /* of the call, where `data` comes from; unused by RELU */
    const void *data;
} df_finish_step;

typedef struct {
    int n;
    df_finish_step steps[DF_FINISH_MAX];
} df_finish;

#endif
