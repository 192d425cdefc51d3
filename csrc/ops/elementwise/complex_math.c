/* Exponentials, logarithms, powers, trigonometric and hyperbolic functions of complex numbers.
 * The vector formulas use the tile functions of real ops. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"
#include "special/complex_scalar.h"

#define PIECE 256          /* numbers whose parts are separated on the stack */
#define POWER_MAX 64       /* the largest integer exponent whose powers are products */

extern DF_OP(exp);
extern DF_OP(log);
extern DF_OP(sin);
extern DF_OP(cos);
extern DF_OP(sinh);
extern DF_OP(cosh);
extern DF_OP(atan2);

typedef enum { FORM_PRODUCTS, FORM_PRODUCTS_MINUS, FORM_TANH, FORM_SIGMOID } form;

/* A function of z computed from four real functions: two of one part, which grow exponentially,
 * and two of the other part, which are bounded. */
typedef struct {
    const df_op *growing[2], *bounded[2];
    bool grows_with_imag;
    form form;
    df_complex_fn exact; /* for parts that are not finite, or whose growing functions overflow */
} parts_recipe;

#define REAL(name) &DF_SYM(df_op_##name)
static const parts_recipe
    exp_recipe = {{REAL(exp), REAL(exp)}, {REAL(cos), REAL(sin)}, false, FORM_PRODUCTS, cexp},
    sin_recipe = {{REAL(cosh), REAL(sinh)}, {REAL(sin), REAL(cos)}, true, FORM_PRODUCTS, csin},
    cos_recipe = {{REAL(cosh), REAL(sinh)}, {REAL(cos), REAL(sin)}, true, FORM_PRODUCTS_MINUS,
                  ccos},
    sinh_recipe = {{REAL(sinh), REAL(cosh)}, {REAL(cos), REAL(sin)}, false, FORM_PRODUCTS, csinh},
    cosh_recipe = {{REAL(cosh), REAL(sinh)}, {REAL(cos), REAL(sin)}, false, FORM_PRODUCTS, ccosh},
    tanh_recipe = {{REAL(sinh), REAL(cosh)}, {REAL(cos), REAL(sin)}, false, FORM_TANH, ctanh},
    sigmoid_recipe = {{REAL(sinh), REAL(exp)}, {REAL(cos), REAL(sin)}, false, FORM_SIGMOID,
                      df_complex_sigmoid_of_half};

#define TEMPLATE "ops/elementwise/complex_math_formulas.h"
#include "ops/each_complex.h"
#undef TEMPLATE
