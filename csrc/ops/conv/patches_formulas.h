/* Sums over patches for patches.c, compiled once per dtype. */

/* to = the sum of the cotangents of a pixel over its windows: n[d] windows, jump[d] elements
 * apart. */
static void FN(sum_pixel)(void *out, const void *in, const int64_t n[DF_SPACE],
                          const int64_t jump[DF_SPACE], int64_t channels)
{
    T *to = out;
    const T *from = in;
    for (int64_t c = 0; c < channels; c += LANES) {
        const int64_t lanes = df_min(LANES, channels - c);
        V sum = {0};
        for (int64_t d = 0; d < n[0]; d++)
            for (int64_t h = 0; h < n[1]; h++) {
                const T *x = from + d * jump[0] + h * jump[1] + c;
                for (int64_t w = 0; w < n[2]; w++, x += jump[2])
                    sum += FN(load_upto)(x, lanes);
            }
        if (lanes == LANES) FN(store)(to + c, sum);
        else FN(store_n)(to + c, sum, lanes);
    }
}
