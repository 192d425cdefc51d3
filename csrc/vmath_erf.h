/* Part of vmath.h: erf of float32; float64 is libm's. */

/* x + x P(x^2) below 1; beyond, 1 - e^(log erfc), where erfc is below 0.16. */
DF_INLINE v_f32 erf_f32(v_f32 x)
{
    const int n_near = sizeof erf_poly_f32 / sizeof *erf_poly_f32;
    const int n_tail = sizeof erf_tail_f32 / sizeof *erf_tail_f32;
    v_f32 square = x * x, a = abs_f32(x);
    v_f32 near = fma_f32(a, poly_f32(square, erf_poly_f32, n_near), a);
    v_f32 b = clamp_f32(a, 0, 3.95f); /* erf is 1 from here on */
    v_f32 far = 1 - exp_inside_f32(b * poly_f32(b, erf_tail_f32, n_tail));
    return copysign_f32(select_f32(a < 1, near, far), x);
}

DF_INLINE v_f64 erf_f64(v_f64 x) { return by_lane_f64(erf, x); }
