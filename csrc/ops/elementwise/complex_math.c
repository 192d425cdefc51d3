/* Exponentials, logarithms, powers, trigonometric and hyperbolic functions of complex numbers. The
 * vector formulas consist of tile functions of real ops. */
#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"
#include "special/complex_scalar.h"
#include <stdlib.h>
#include <string.h>

extern DF_OP(complex);
extern DF_OP(real);
extern DF_OP(imag);
extern DF_OP(exp);
extern DF_OP(log);
extern DF_OP(sin);
extern DF_OP(cos);
extern DF_OP(sinh);
extern DF_OP(cosh);
extern DF_OP(atan2);

/* FORM_PRODUCT: a c + i b s; FORM_MINUS: a c - i b s */
typedef enum { FORM_PRODUCT, FORM_MINUS, FORM_TANH, FORM_SIGMOID } parts_form;

/* A function of z computed from four real functions: a and b of one part, which grow exponentially,
 * c and s of the other part, which are bounded. */
typedef struct {
    const df_op *of_part[4];
    bool grows_with_imag;
    parts_form form;
    df_complex_fn exact; /* for parts that are not finite, or whose growing functions overflow */
} parts_recipe;

#define REAL(name) &DF_SYM(df_op_##name)
#define REALS(a, b, c, s) {REAL(a), REAL(b), REAL(c), REAL(s)}
static const parts_recipe
    exp_recipe = {REALS(exp, exp, cos, sin), false, FORM_PRODUCT, cexp},
    sin_recipe = {REALS(cosh, sinh, sin, cos), true, FORM_PRODUCT, csin},
    cos_recipe = {REALS(cosh, sinh, cos, sin), true, FORM_MINUS, ccos},
    sinh_recipe = {REALS(sinh, cosh, cos, sin), false, FORM_PRODUCT, csinh},
    cosh_recipe = {REALS(cosh, sinh, cos, sin), false, FORM_PRODUCT, ccosh},
    tanh_recipe = {REALS(sinh, cosh, cos, sin), false, FORM_TANH, ctanh},
    sigmoid_recipe = {REALS(exp, cosh, cos, sin), false, FORM_SIGMOID, df_complex_sigmoid};

#define TEMPLATE "ops/elementwise/complex_math_formulas.h"
#include "ops/each_complex.h"
#undef TEMPLATE
