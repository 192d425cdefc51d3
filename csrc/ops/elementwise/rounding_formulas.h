/* Rounding to integers, and tests for NaN and infinite numbers. Compiled once per dtype. */

#if DTYPE_FLOAT

DF_INLINE V FN(round)(V x) { return FN(rint)(x); }
DF_INLINE M FN(is_nan)(V x) { return FN(isnan)(x); }
DF_INLINE M FN(is_inf)(V x) { return FN(isinf)(x); }
DF_INLINE M FN(is_finite)(V x) { return FN(isfinite)(x); }

TILE_UNARY(floor)
TILE_UNARY(ceil)
TILE_UNARY(round)
TILE_UNARY(trunc)
TILE_TEST(is_nan)
TILE_TEST(is_inf)
TILE_TEST(is_finite)

#else

DF_INLINE V FN(round)(V x) { return x; }

TILE_UNARY(round)

#endif
