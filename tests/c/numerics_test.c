/* NaN and infinities are found in every floating dtype. */
#include "base/numerics.h"

#include "check.h"

#include <string.h>

static void test_numerics(void)
{
    static uint8_t data[80000];
    const struct { df_dtype dtype; uint64_t nan, inf, largest; } cases[] = {
        {DF_F16, 0xFE01, 0x7C00, 0x7BFF}, {DF_BF16, 0x7FC0, 0xFF80, 0x7F7F},
        {DF_F32, 0x7F800001, 0xFF800000, 0x7F7FFFFF},
        {DF_F64, 0xFFF8000000000000, 0x7FF0000000000000, 0x7FEFFFFFFFFFFFFF}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int bytes = df_dtypes[cases[c].dtype].bytes;
        df_tensor t;
        df_error err;
        df_tensor_init(&t);
        CHECK(df_tensor_set(&t, cases[c].dtype, 1, (int64_t[]){9999}, "x", &err) == DF_OK);
        t.data = data;
        memset(data, 0, sizeof data);
        for (int i = 0; i < 9999; i++) memcpy(data + i * bytes, &cases[c].largest, (size_t)bytes);
        CHECK(df_find_nonfinite(&t).first == -1);
        memcpy(data + 9998 * bytes, &cases[c].inf, (size_t)bytes);
        memcpy(data + 9000 * bytes, &cases[c].nan, (size_t)bytes);
        df_nonfinite found = df_find_nonfinite(&t);
        CHECK(found.first == 9000 && found.n_nan == 1 && found.n_inf == 1);
        t.data = NULL;
        df_tensor_clear(&t);
    }
}

int main(void)
{
    test_numerics();
    return 0;
}
