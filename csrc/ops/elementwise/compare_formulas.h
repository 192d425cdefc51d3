/* Comparisons, and selection by a condition. Compiled once per dtype. */

DF_INLINE M FN(equal)(V a, V b) { return a == b; }
DF_INLINE M FN(not_equal)(V a, V b) { return a != b; }
DF_INLINE M FN(less)(V a, V b) { return a < b; }
DF_INLINE M FN(less_equal)(V a, V b) { return a <= b; }
DF_INLINE M FN(greater)(V a, V b) { return a > b; }
DF_INLINE M FN(greater_equal)(V a, V b) { return a >= b; }

TILE_COMPARE(equal)
TILE_COMPARE(not_equal)
TILE_COMPARE(less)
TILE_COMPARE(less_equal)
TILE_COMPARE(greater)
TILE_COMPARE(greater_equal)

DF_INLINE V FN(where)(M condition, V a, V b) { return FN(select)(condition, a, b); }

TILE_CHOICE(where)
