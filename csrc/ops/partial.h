/* Included once per dtype: vectors of which the first n lanes, 1 to all, are in memory. */

DF_INLINE V FN(load_upto)(const T *p, int64_t n)
{
    return n == LANES ? FN(load)(p) : FN(load_n)(p, n);
}

DF_INLINE void FN(store_upto)(T *p, V v, int64_t n)
{
    if (n == LANES) FN(store)(p, v);
    else FN(store_n)(p, v, n);
}
