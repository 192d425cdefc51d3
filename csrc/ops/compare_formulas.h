/* Comparisons, and the choice by a condition. Compiled once per dtype. */

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

TILE_OF(where)
{
    (void)attrs;
    const uint8_t *condition = in[0];
    const T *a = in[1], *b = in[2];
    T *y = out;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        M mask = FN(load_mask)(condition + i);
        FN(store)(y + i, FN(select)(mask, FN(load)(a + i), FN(load)(b + i)));
    }
    for (; i < n; i++) y[i] = condition[i] ? a[i] : b[i];
}
