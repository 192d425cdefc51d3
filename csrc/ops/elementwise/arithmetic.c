/* Arithmetic except division. Integers wrap around, as in NumPy. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"
#include "base/thread.h"

#define TEMPLATE "ops/elementwise/arithmetic_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

TILE_OF_PARTS(add)
TILE_OF_PARTS(subtract)
TILE_OF_PARTS(negative)

DF_OP(add) = {BINARY_OP("add"), .commutative = true, .tile = {NUMBERS(add), PARTS(add)},
              WITH_ONE(add)};
DF_OP(subtract) = {BINARY_OP("subtract"), .tile = {NUMBERS(subtract), PARTS(subtract)},
                   WITH_ONE(subtract)};
DF_OP(multiply) = {BINARY_OP("multiply"), .commutative = true,
                   .tile = {NUMBERS(multiply), COMPLEX(multiply)}, WITH_ONE(multiply)};
DF_OP(multiply_no_nan) = {BINARY_OP("multiply_no_nan"),
                          .tile = {FLOATS(multiply_no_nan), COMPLEX(multiply_no_nan)}};
DF_OP(squared_difference) = {BINARY_OP("squared_difference"), .commutative = true,
                             .tile = {NUMBERS(squared_difference), COMPLEX(squared_difference)},
                             WITH_ONE(squared_difference)};
DF_OP(negative) = {UNARY_OP("negative"), .tile = {NUMBERS(negative), PARTS(negative)}};
DF_OP(abs) = {ELEMENTWISE_OP("abs", 1, 1), .may_alias = DF_ANY_INPUT,
              .infer = DF_SYM(df_infer_part), .formula.form = DF_FORM_VECTOR,
              .tile = {NUMBERS(abs), COMPLEX(abs)}};
DF_OP(sign) = {UNARY_OP("sign"), .tile = {NUMBERS(sign), COMPLEX(sign)}};
DF_OP(square) = {UNARY_OP("square"), .tile = {NUMBERS(square), COMPLEX(square)}};

/* add_n: the sum of any number of tensors of one shape, from first to last, one block in cache at a
 * time, with the tile function of add. */
#define ADD_N_BLOCK 4096

static df_status infer_add_n(const df_call *call, df_error *err)
{
    const df_tensor *first = call->in[0];
    for (int i = 1; i < call->n_in; i++) {
        const df_tensor *x = call->in[i];
        if (!df_may_be_same_shape(x, first))
            return df_fail(err, DF_BAD_SHAPE,
                           "%s: input %d is %s, expected the shape of input 0, %s", call->op->name,
                           i, df_tensor_text(x).text, df_tensor_text(first).text);
    }
    if (!DF_SYM(df_op_add).tile[first->dtype]) return df_fail_dtype(call, 0, "a number dtype", err);
    return df_infer_same(call, err);
}

static void add_n_block(void *context, int64_t begin, int64_t end)
{
    const df_call *call = context;
    df_dtype dtype = call->out[0]->dtype;
    int64_t skip = begin * df_dtypes[dtype].bytes, bytes = (end - begin) * df_dtypes[dtype].bytes;
    char *y = (char *)call->out[0]->data + skip;
    if (call->n_in == 1) {
        memcpy(y, (const char *)call->in[0]->data + skip, (size_t)bytes);
        return;
    }
    const void *in[2] = {(const char *)call->in[0]->data + skip, NULL};
    for (int i = 1; i < call->n_in; i++) {
        in[1] = (const char *)call->in[i]->data + skip;
        DF_SYM(df_op_add).tile[dtype](end - begin, y, in, NULL);
        in[0] = y;
    }
}

static df_status run_add_n(const df_call *call, df_error *err)
{
    (void)err;
    df_parallel_for(call->out[0]->size, ADD_N_BLOCK, 0.1 * call->n_in, add_n_block, (void *)call);
    return DF_OK;
}

DF_OP(add_n) = {.name = "add_n", .kind = DF_GENERAL, .cannot_fail = true,
                .n_in = DF_VARIADIC, .n_out = 1, .promote = 1,
                .infer = infer_add_n, .run = run_add_n};
