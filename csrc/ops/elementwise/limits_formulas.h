/* Maximum, minimum and clipping. Compiled once per dtype. */

DF_INLINE V FN(maximum)(V a, V b) { return FN(max)(a, b); }
DF_INLINE V FN(minimum)(V a, V b) { return FN(min)(a, b); }
DF_INLINE V FN(clip_by_value)(V x, V low, V high) { return FN(max)(FN(min)(x, high), low); }

TILE_BINARY(maximum)
TILE_BINARY(minimum)
TILE_TERNARY(clip_by_value)
#if DTYPE_FLOAT
TILE_WITH_ONE(maximum)
TILE_WITH_ONE(minimum)
#endif
