/* Cross entropy of single logits. Compiled once per floating dtype. */

/* max(x, 0) - x z + log(1 + e^-|x|): no term overflows. */
DF_INLINE V FN(sigmoid_cross_entropy)(V z, V x)
{
    return FN(max0)(x) - x * z + FN(log1p)(FN(exp)(-FN(abs)(x)));
}

TILE_BINARY(sigmoid_cross_entropy)
