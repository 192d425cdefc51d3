/* Normalization with given moments. Compiled once per floating dtype. */

DF_INLINE V FN(normalize_by)(V x, V mean, V factor, V offset)
{
    return (x - mean) * factor + offset;
}

TILE_QUATERNARY(normalize_by)
