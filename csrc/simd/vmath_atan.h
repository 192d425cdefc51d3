/* Part of vmath.h, included once per floating dtype: atan and atan2. */

/* The parts of PI_4 and of 3/4 pi that the dtype's constant leaves out. */
#define PI_4_REST_f32 (-0x1.777a5cp-26f)
#define PI_4_REST_f64 0x1.1a62633145c07p-55
#define THREE_PI_4_REST_f32 (-0x1.99bc5cp-28f)
#define THREE_PI_4_REST_f64 0x1.a79394c9e8a0ap-54

/* The angle with tangent few / many, 0 <= few <= many, less pi/4 where *turn is set. Those lanes
 * use the quotient rotated by pi/4: few is between half of many and many, so their difference is
 * exact. One division in either case. */
DF_INLINE V FN(atan_octant)(V few, V many, M *turn)
{
    *turn = few > many * (T)0.5;
    V t = FN(select)(*turn, few - many, few) / FN(select)(*turn, few + many, many);
    V z = t * t;
    return FN(fma)(t * z, POLY(z, atan_poly), t);
}

/* Above 1 the quotient is 1 / |x|, and the angle is subtracted from pi/2. */
DF_INLINE V FN(atan)(V x)
{
    V a = FN(abs)(x), one = FN(splat)(1);
    M turn, steep = a > 1;
    V t = FN(atan_octant)(FN(select)(steep, one, a), FN(select)(steep, a, one), &turn);
    t = FN(select)(steep, -t, t);
    V quarters = FN(select)(turn, one, FN(select)(steep, one + one, (V){0}));
    V low = FN(fma)(quarters, FN(splat)(DF_CAT(PI_4_REST, DTYPE)), t);
    return FN(copysign)(FN(fma)(quarters, FN(splat)((T)M_PI_4), low), x);
}

/* atan of the shorter over the longer side. The longer side is limited so that sums do not
 * overflow, and two equal sides, including zero and infinity, are replaced by 0 and 1, or 1 and
 * 1. */
DF_INLINE V FN(atan2)(V y, V x)
{
    const T large = sizeof(T) == 4 ? (T)0x1p125 : (T)0x1p1021;
    V ax = FN(abs)(x), ay = FN(abs)(y), one = FN(splat)(1);
    M steep = ay > ax, left = (M)x < (M){0}, equal = ax == ay, turn;
    V few = FN(select)(steep, ax, ay), many = FN(select)(steep, ay, ax);
    V down = FN(select)(many > large, FN(splat)((T)0.25), one);
    few = FN(select)(equal, FN(select)(few > (V){0}, one, (V){0}), few * down);
    many = FN(select)(equal, one, many * down);
    V t = FN(atan_octant)(few, many, &turn);
    t = FN(select)(steep ^ left, -t, t);
    V quarters = FN(select)(turn, one, FN(select)(steep, one + one, (V){0}));
    quarters = FN(select)(left, 4 - quarters, quarters);
    V high = quarters * (T)M_PI_4, low = quarters * DF_CAT(PI_4_REST, DTYPE);
    low = FN(select)(quarters == 3, FN(splat)(DF_CAT(THREE_PI_4_REST, DTYPE)), low);
    return FN(copysign)(high + (low + t), y);
}
