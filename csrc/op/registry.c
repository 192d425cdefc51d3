/* Selects one table of ops at load. DF_HAVE_<level> lists the levels in this build;
 * DF_WITHOUT_BASELINE leaves out the baseline. */
#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

#ifndef DF_WITHOUT_BASELINE
extern const df_op *const df_optable_baseline[];
#endif
#ifdef DF_HAVE_NEON
extern const df_op *const df_optable_neon[];
#endif
#ifdef DF_HAVE_AVX2
extern const df_op *const df_optable_avx2[];
#endif
#ifdef DF_HAVE_AVX512
extern const df_op *const df_optable_avx512[];
#endif

static const struct {
    const char *name;
    const df_op *const *table; /* NULL: not in this build */
} levels[DF_N_ISA] = {
#ifndef DF_WITHOUT_BASELINE
    [DF_ISA_BASELINE] = {"baseline", df_optable_baseline},
#endif
#ifdef DF_HAVE_NEON
    [DF_ISA_NEON] = {"neon", df_optable_neon},
#endif
#ifdef DF_HAVE_AVX2
    [DF_ISA_AVX2] = {"avx2", df_optable_avx2},
#endif
#ifdef DF_HAVE_AVX512
    [DF_ISA_AVX512] = {"avx512", df_optable_avx512},
#endif
};

static df_isa chosen = DF_ISA_BASELINE;
static int64_t n_ops;

static bool usable(int isa) { return levels[isa].table != NULL && df_cpu_has((df_isa)isa); }

df_status df_registry_init(df_error *err)
{
    const char *wanted = getenv("DUALFLOW_ISA");
    if (wanted && !wanted[0]) wanted = NULL;
    int found = -1;
    for (int isa = 0; isa < DF_N_ISA; isa++)
        if (usable(isa) && (!wanted || strcmp(wanted, levels[isa].name) == 0)) found = isa;
    bool any = false;
    for (int isa = 0; isa < DF_N_ISA; isa++) any = any || usable(isa);
    if (!any)
        return df_fail(err, DF_UNIMPLEMENTED,
                       "this build needs instructions that this CPU does not have; build it on "
                       "this machine, or for more SIMD levels");
    if (found < 0)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "DUALFLOW_ISA=%s: this build on this CPU has%s%s%s%s",
                       wanted, usable(DF_ISA_BASELINE) ? " baseline" : "",
                       usable(DF_ISA_NEON) ? " neon" : "", usable(DF_ISA_AVX2) ? " avx2" : "",
                       usable(DF_ISA_AVX512) ? " avx512" : "");
    chosen = (df_isa)found;
    for (n_ops = 0; levels[chosen].table[n_ops]; n_ops++) {}
    return DF_OK;
}

const char *df_registry_isa(void) { return levels[chosen].name; }
int64_t df_registry_size(void) { return n_ops; }
const df_op *df_registry_op(int64_t index) { return levels[chosen].table[index]; }
