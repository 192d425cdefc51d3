/* Compares the functions of csrc/simd/vmath.h and lgamma with libm in a wider type and prints, per
 * function, the largest error in ulp, its argument, and ns per element. Exits with 1 if a function
 * exceeds its limit. Build it once per SIMD level:
 *
 *   gcc -O3 -std=gnu11 -fwrapv -ffp-contract=off -fno-math-errno -Icsrc [-mavx2 -mfma ...] \
 *       tests/c/vmath_sweep.c csrc/special/digamma.c csrc/special/zeta.c -o sweep -lm
 *   ./sweep [stride [name]]    every stride-th float32 (1: all 2^32); default 997
 *
 * float64 and functions of two arguments get 2^32 / stride random bit patterns and ranges, and all
 * pairs of special values. */
#include "simd/vmath_gamma.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N 4096
#define LIMIT 2.0

static uint64_t random_state = 1;
static uint64_t random_bits(void) /* splitmix64 */
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double ref_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static long double ref_sigmoidl(long double x)
{
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}
static double ref_softplus(double x) { return (x < 0 ? 0 : x) + log1p(exp(-fabs(x))); }
static long double ref_softplusl(long double x)
{
    return (x < 0 ? 0 : x) + log1pl(expl(-fabsl(x)));
}

#define DTYPE f32
#include "vmath_sweep_loops.h"
#undef DTYPE
#define DTYPE f64
#include "vmath_sweep_loops.h"
#undef DTYPE

typedef struct {
    const char *name;
    void (*f32)(const float *, const float *, float *);
    double (*ref)(double);
    double (*ref2)(double, double);
    void (*f64)(const double *, const double *, double *);
    long double (*refl)(long double);
    long double (*refl2)(long double, long double);
    double limit_f64;
} row;

/* UNARY_LIBM: float64 calls libm, whose error has a loose limit. UNARY_ABOUT: a function with a
 * separate limit. */
#define UNARY(name, ref) {#name, name##_loop_f32, ref, NULL, name##_loop_f64, ref##l, NULL, LIMIT}
#define UNARY_ABOUT(name, ulp)                                                                   \
    {#name, name##_loop_f32, name, NULL, name##_loop_f64, name##l, NULL, ulp}
#define UNARY_LIBM(name) UNARY_ABOUT(name, 9)
#define BINARY(name) {#name, name##_loop_f32, NULL, name, name##_loop_f64, NULL, name##l, LIMIT}

static const row rows[] = {
#include "vmath_sweep_rows.h"
};

typedef struct {
    double ulp, x, y, got;
} worst;

/* Distance of got from the exact `want` in units in the last place at `want`. Overflow counts as
 * 2^(largest exponent + 1); a zero of the wrong sign or a missing NaN as infinity. */
static double ulp_error(double got, long double want, int fraction_bits, int min_exp, int max_exp)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (want == 0) return got != 0 || !signbit(got) != !signbit(want) ? INFINITY : 0;
    long double limit = ldexpl(1, max_exp), g = got;
    if (fabsl(want) > limit) want = copysignl(limit, want);
    if (isinf(got)) g = copysignl(limit, g);
    int exponent;
    frexpl(want, &exponent);
    if (exponent > max_exp) exponent = max_exp;
    int ulp = exponent - 1 - fraction_bits < min_exp ? min_exp : exponent - 1 - fraction_bits;
    return (double)(fabsl(g - want) / ldexpl(1, ulp));
}

static void note(worst *w, double ulp, double x, double y, double got)
{
    if (ulp > w->ulp) *w = (worst){ulp, x, y, got};
}

static void compare_f32(const row *r, const float *x, const float *y, worst *w)
{
    static float out[N];
    r->f32(x, y, out);
    for (int i = 0; i < N; i++) {
        double want = r->ref ? r->ref(x[i]) : r->ref2(x[i], y[i]);
        /* cheap test first: exact agreement of the rounded reference */
        if ((float)want == out[i] && want != 0) {
            if (w->ulp >= 0.5) continue;
        }
        note(w, ulp_error(out[i], want, 23, -149, 128), x[i], y[i], out[i]);
    }
}

static void compare_f64(const row *r, const double *x, const double *y, worst *w)
{
    static double out[N];
    r->f64(x, y, out);
    for (int i = 0; i < N; i++) {
        long double want = r->refl ? r->refl(x[i]) : r->refl2(x[i], y[i]);
        note(w, ulp_error(out[i], want, 52, -1074, 1024), x[i], y[i], out[i]);
    }
}

static const double special[] = {
    0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -0.5, 2, -2, 3, -3, 1e-45, -1e-45, 1e-40,
    3.4e38, -3.4e38, 16777215, -16777215, 16777216, 0.99999994, 1.0000001, 1e-30, 1e30, 88.7,
    -103.9, 5e-324, 1.7e308, 709.7, -745.1, 9007199254740991, -9007199254740991};
#define N_SPECIAL (int)(sizeof special / sizeof *special)

static double some_double(bool single)
{
    uint64_t bits = random_bits();
    double value;
    float value32;
    uint32_t bits32 = (uint32_t)(bits >> 16);
    switch (bits & 7) {
    case 0:
    case 1: /* any bit pattern */
        memcpy(&value, &bits, sizeof value);
        memcpy(&value32, &bits32, sizeof value32);
        return single ? value32 : value;
    case 2: return ldexp((double)(int64_t)bits, -63) * 2; /* in [-2, 2] */
    case 3: return ldexp((double)(int64_t)bits, -63) * 800;
    case 4: return (double)(int32_t)(bits32 >> 11) * 1.5707963267948966; /* hard to reduce */
    case 5: return 1 + ldexp((double)(int64_t)bits, -63 - (int)(bits >> 8 & 63)); /* hard for log */
    default: return ldexp((double)(int64_t)bits, -63 - (int)(bits >> 8 & 31));
    }
}

static worst sweep_f32_all(const row *r, uint64_t stride)
{
    worst w = {-1, 0, 0, 0};
    static float x[N];
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
        for (int i = 0; i < N; i++, bits += stride) {
            uint32_t low = bits < UINT64_C(1) << 32 ? (uint32_t)bits : 0;
            memcpy(&x[i], &low, sizeof low);
        }
        compare_f32(r, x, x, &w);
    }
    for (int i = 0; i < N; i++) x[i] = (float)special[i % N_SPECIAL];
    compare_f32(r, x, x, &w);
    return w;
}

static worst sweep_f32_pairs(const row *r, uint64_t n)
{
    worst w = {-1, 0, 0, 0};
    static float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)special[i % N_SPECIAL];
        y[i] = (float)special[i / N_SPECIAL % N_SPECIAL];
    }
    compare_f32(r, x, y, &w);
    for (uint64_t done = 0; done < n; done += N) {
        for (int i = 0; i < N; i++) {
            x[i] = (float)some_double(true);
            y[i] = (float)some_double(true);
        }
        compare_f32(r, x, y, &w);
    }
    return w;
}

static worst sweep_f64(const row *r, uint64_t n)
{
    worst w = {-1, 0, 0, 0};
    static double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = special[i % N_SPECIAL];
        y[i] = special[i / N_SPECIAL % N_SPECIAL];
    }
    compare_f64(r, x, y, &w);
    for (uint64_t done = 0; done < n; done += N) {
        for (int i = 0; i < N; i++) {
            x[i] = some_double(false);
            y[i] = some_double(false);
        }
        compare_f64(r, x, y, &w);
    }
    return w;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ns per element, the minimum of several runs, on arguments from 0.1 to 4: in the domain of log and
 * pow, partly outside the domains of asin and acosh. */
static double time_row(const row *r, bool wide)
{
    static float x[N], out[N];
    static double x64[N], out64[N];
    for (int i = 0; i < N; i++) x64[i] = x[i] = (float)(0.1 + 3.9 * (double)(i * 37 % N) / N);
    double least = INFINITY;
    for (int run = 0; run < 200; run++) {
        double start = seconds();
        if (wide)
            r->f64(x64, x64, out64);
        else
            r->f32(x, x, out);
        double spent = seconds() - start;
        if (spent < least) least = spent;
    }
    return least / N * 1e9;
}

int main(int argc, char **argv)
{
    uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 997;
    uint64_t n = (UINT64_C(1) << 32) / (stride ? stride : 1);
    int failed = 0;
    if (stride == 0) return 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        if (argc > 2 && strcmp(argv[2], r->name) != 0) continue;
        worst a = r->ref ? sweep_f32_all(r, stride) : sweep_f32_pairs(r, n);
        worst b = sweep_f64(r, n / 16);
        bool bad = a.ulp > LIMIT || b.ulp > r->limit_f64;
        failed |= bad;
        printf("%-9s f32 %6.3f ulp at %-15.9g %-14.8g (got %-14.9g) %6.3f ns | "
               "f64 %6.3f ulp at %-23.17g %-10.6g (got %.17g) %6.3f ns%s\n",
               r->name, a.ulp, a.x, a.y, a.got, time_row(r, false), b.ulp, b.x, b.y, b.got,
               time_row(r, true), bad ? "  FAIL" : "");
        fflush(stdout);
    }
    return failed;
}
