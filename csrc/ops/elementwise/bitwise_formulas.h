/* Bitwise ops. Compiled once per integer dtype; u8 also serves bools. */

DF_INLINE V FN(bitwise_and)(V a, V b) { return a & b; }
DF_INLINE V FN(bitwise_or)(V a, V b) { return a | b; }
DF_INLINE V FN(bitwise_xor)(V a, V b) { return a ^ b; }
DF_INLINE V FN(bitwise_not)(V x) { return ~x; }

/* A shift by the width or more is undefined in C; here it yields the result of shifting bit by bit:
 * 0, or the sign. A negative shift counts as too long. */
DF_INLINE T FN(left_shift_1)(T a, T b)
{
    return (uint64_t)b < 8 * sizeof(T) ? (T)((uint64_t)a << b) : (T)0;
}
DF_INLINE T FN(right_shift_1)(T a, T b)
{
    return (uint64_t)b < 8 * sizeof(T) ? (T)(a >> b) : (T)-is_negative(a);
}

/* AVX2 has shifts by a distance per lane, for lanes of 4 and 8 bytes. */
#if defined(__AVX2__)
#define VECTOR_SHIFTS (sizeof(T) >= 4)
#else
#define VECTOR_SHIFTS 0
#endif
DF_INLINE M FN(is_shorter)(V b) { return (b < 8 * (T)sizeof(T)) & (b >= 0); }
DF_INLINE V FN(left_shift)(V a, V b)
{
    if (!VECTOR_SHIFTS) return FN(lanewise2)(a, b, FN(left_shift_1));
    return FN(select)(FN(is_shorter)(b), a << (b & (8 * (T)sizeof(T) - 1)), (V){0});
}
DF_INLINE V FN(right_shift)(V a, V b)
{
    if (!VECTOR_SHIFTS) return FN(lanewise2)(a, b, FN(right_shift_1));
    const V longest = DTYPE_SIGNED ? a >> (8 * (T)sizeof(T) - 1) : (V){0};
    return FN(select)(FN(is_shorter)(b), a >> (b & (8 * (T)sizeof(T) - 1)), longest);
}
#undef VECTOR_SHIFTS

TILE_BINARY(bitwise_and)
TILE_BINARY(bitwise_or)
TILE_BINARY(bitwise_xor)
TILE_UNARY(bitwise_not)
TILE_BINARY(left_shift)
TILE_BINARY(right_shift)
