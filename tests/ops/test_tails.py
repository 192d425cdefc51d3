"""Gradients and activations far from 0 do not vanish or overflow before the exact value does."""

import ctypes
import ctypes.util
import math
import platform

import numpy as np
import pytest

import dualflow as df
from tests.ops import harness
from tests.ops.cases import CASES

# The first row of each op; float32 values are compared with float64, in which their products and
# squares do not overflow.
ROWS = {c.op: c for c in CASES
        if harness.elementwise(c) and c.grad and {"float32", "float64"} <= set(c.dtypes)
        and not c.op.endswith("_grad")}     # these multiply a tail by any value
SIZES = np.float32(10.0) ** np.concatenate([np.arange(-37, 38, 3), np.linspace(-1, 2.2, 40)])
LEFT_OUT = {"floormod": "jumps", "polygamma": "poles", "where": "takes a bool"}


def gradients(case, arrays, dtype):
    """Return one array per sample of the row."""
    xs = [df.constant(a.astype(dtype)) for a in arrays]
    turn = iter(xs)
    args = [next(turn) if callable(a) else a for a in case.args]
    with df.GradientTape() as tape:
        tape.watch(xs)
        y = harness.function(case)(*args, **case.kwargs)
    got = tape.gradient(y, xs, unconnected_gradients="zero")
    return [np.broadcast_to(g.numpy(), a.shape).astype(np.float64)
            for g, a in zip(got, arrays, strict=True)]


@pytest.mark.parametrize("case", [c for c in ROWS.values() if c.op not in LEFT_OUT], ids=str)
def test_float32_gradients_match_float64(case):
    """Values agree to 1 in 1000 wherever they are in the normal range of float32."""
    n = sum(map(callable, case.args))
    values = np.concatenate([SIZES, -SIZES]).astype(np.float32)
    grid = [a.ravel() for a in np.meshgrid(*[values[::n * n]] * n)]
    with np.errstate(all="ignore"):
        for got, want in zip(gradients(case, grid, "f4"), gradients(case, grid, "f8"),
                             strict=True):
            normal = (np.abs(want) > 2.0**-120) & (np.abs(want) < 2.0**120)
            wrong = normal & ~(np.abs(got - want) <= 1e-3 * np.abs(want))
            assert not wrong.any(), (
                case, [a[wrong][:5] for a in grid], got[wrong][:5], want[wrong][:5])


# By mpmath, 50 digits, correctly rounded to float64.
AT = [-90, -36.5, -20, -12.5, -9, -6.75, -5.5, -3, -1, -0.25, 0.25, 2.5, 6, 20]
TRUE = {
    "gelu": [
        -0.0, -2.0238248852723182e-290, -5.507248237212468e-88, -4.665705373597142e-35,
        -1.0157295653584566e-18, -4.98977400016203e-11, -1.0444259356238245e-07,
        -0.0040496940948902835, -0.15865525393145705, -0.10032341857926907,
        0.14967658142073093, 2.4844758366855597, 5.999999994080474, 20.0],
    "gelu_tanh": [
        -0.0, -0.0, -3.3754509563109673e-261, -8.101996464473621e-69,
        -1.3364595947348725e-28, -4.175948320418436e-14, -5.9276402638802624e-09,
        -0.003637392081773019, -0.1588080093917233, -0.100324649298315, 0.149675350701685,
        2.484915733910001, 5.9999999999156035, 20.0],
    "silu": [
        -7.374611361591464e-38, -5.135045250428435e-15, -4.122307236380407e-08,
        -4.658299105233202e-05, -0.0011105511838760856, -0.007894194289124724,
        -0.0223857574374287, -0.14227761953270035, -0.2689414213699951,
        -0.10945587477855047, 0.14054412522144952, 2.310354549946891, 5.985164261060191,
        19.99999995877693],
    "gelu_slope": [
        -0.0, -7.386952538459799e-289, -1.1014360483133464e-86, -5.831668554480156e-34,
        -9.138937373906639e-18, -3.3651605444393083e-10, -5.733472398739924e-07,
        -0.011945647204183927, -0.0833154705876863, 0.30462664511636395,
        0.695373354883636, 1.037611085908145, 1.0000000354687095, 1.0],
    "gelu_tanh_slope": [
        -0.0, -0.0, -2.9424328724945027e-259, -2.8327285098472606e-67,
        -2.515735285067425e-27, -4.677451493777197e-13, -4.676552810807415e-08,
        -0.011584166630969726, -0.08296408384578255, 0.30464590484893955,
        0.6953540951510604, 1.037951576212666, 1.0000000007709975, 1.0],
    "silu_slope": [
        -7.292671235351559e-38, -4.9943590791838196e-15, -3.9161918660646786e-08,
        -4.2856178170141026e-05, -0.0009870195718974083, -0.006715451682813736,
        -0.01822450660588759, -0.08810410601516962, 0.07232948812851327,
        0.37628997842980233, 0.6237100215701977, 1.0994011113415267, 1.0123264325915255,
        1.0000000391619186],
    "sigmoid_slope": [
        8.194012623990515e-40, 1.4068617124461464e-16, 2.061153613941849e-09,
        3.7266253963462068e-06, 0.0001233793497648489, 0.0011681425107954446,
        0.004053571694869767, 0.04517665973091213, 0.19661193324148185,
        0.24613408273759835, 0.24613408273759835, 0.07010371654510816,
        0.0024665092913600476, 2.061153613941849e-09],
    "tanh_slope": [
        2.6856737152846374e-78, 7.917039511787618e-32, 1.6993417021166355e-17,
        5.555177545831308e-11, 6.091991712323229e-08, 5.483821309336726e-06,
        6.680457164241374e-05, 0.00986603716544019, 0.4199743416140261, 0.940014848806378,
        0.940014848806378, 0.02659222668316062, 2.4576547405332702e-05,
        1.6993417021166355e-17],
    "elu_slope": [
        8.194012623990515e-40, 1.4068617124461467e-16, 2.061153622438558e-09,
        3.726653172078671e-06, 0.00012340980408667956, 0.0011708796207911744,
        0.004086771438464067, 0.049787068367863944, 0.36787944117144233,
        0.7788007830714049, 1.0, 1.0, 1.0, 1.0],
}
FUNCTIONS = {"gelu": df.nn.gelu, "gelu_tanh": lambda x: df.nn.gelu(x, approximate=True),
             "silu": df.nn.silu, "sigmoid": df.sigmoid, "tanh": df.tanh, "elu": df.nn.elu}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TRUE)
def test_activations_are_accurate_in_the_tails(name, dtype):
    """Values are accurate to 6 ulp, down to subnormals."""
    f = FUNCTIONS[name.removesuffix("_slope")]
    x = df.constant(np.array(AT, dtype))
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    got = (tape.gradient(y, x) if name.endswith("slope") else y).numpy()
    want = np.array(TRUE[name])
    unit = np.spacing(np.abs(want).astype(dtype)).astype(np.float64)
    error = np.abs(got.astype(np.float64) - want) / unit
    assert error.max() <= 6, (error, got, want)


@pytest.mark.parametrize("f, x, want", [
    (df.asinh, 1e30, 1e-30), (df.asinh, -1e30, 1e-30), (df.acosh, 1e30, 1e-30),
    (df.nn.softsign, 1.9e19, 1 / 1.9e19 / 1.9e19), (df.sigmoid, 30., math.exp(-30)),
    (df.tanh, 20., 4 * math.exp(-40)), (df.nn.elu, -40., math.exp(-40)),
    (lambda x: df.atan2(x, x), 1e25, 0.), (lambda x: df.atan2(x, 2e25), 1e25, 4e-26),
    (lambda x: df.atan2(x, 2e-25), 1e-25, 4e24),
    (lambda x: df.math.xdivy(1e25, x), 1e25, -1e-25),
    (lambda x: df.nn.sigmoid_cross_entropy_with_logits(1., x), 30., -math.exp(-30))])
def test_gradients_do_not_underflow_early(f, x, want):
    def slope(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    for call in (slope, df.function(slope)):
        assert call(df.constant(x)).numpy() == pytest.approx(want, rel=1e-6, abs=1e-45)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "elu", "selu", "gelu", "silu", "softsign"])
def test_third_derivatives_are_finite_everywhere(name):
    x = df.constant(np.array([-1e30, -800, -40, -3, -0., 0, 3, 40, 800, 1e30]))
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = getattr(df.nn, name)(x)
        for _ in range(2):
            y = tape.gradient(y, x)
    assert np.isfinite(tape.gradient(y, x).numpy()).all()


def with_zeros(f):
    """Apply f to x and as many zeros: x is masked, or masks the zeros."""
    return lambda x: f(df.concat([x, df.zeros_like(x)], 0))


SATURATING = {
    "exp": df.exp, "expm1": df.math.expm1, "sigmoid": df.sigmoid, "tanh": df.tanh,
    "softplus": df.math.softplus, "log_sigmoid": df.math.log_sigmoid, "silu": df.nn.silu,
    "gelu": df.nn.gelu, "gelu by tanh": lambda x: df.nn.gelu(x, approximate=True),
    "elu": df.nn.elu, "selu": df.nn.selu, "erf": df.math.erf, "erfc": df.math.erfc,
    "pow": lambda x: df.pow(df.cast(2.5, x.dtype), x), "softmax": with_zeros(df.nn.softmax),
    "log_softmax": with_zeros(df.nn.log_softmax), "logsumexp": with_zeros(df.reduce_logsumexp)}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads flags of x86-64")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SATURATING)
def test_saturated_arguments_do_not_underflow(name, dtype):
    """A processor takes 150 cycles for a result below the normal range; masks of -1e9 are common.
    The flag says whether there was one."""
    if name == "erfc" and dtype == "float64" and df.config.isa() == "baseline":
        pytest.skip("computed by the C library")
    math_library, underflow = ctypes.CDLL(ctypes.util.find_library("m")), 0x10
    for value in -math.inf, -1e9, -5000.0, 5000.0, 1e9:
        x = df.constant(np.full(100, value, dtype))
        with df.GradientTape() as tape:
            tape.watch(x)
            math_library.feclearexcept(underflow)
            y = SATURATING[name](x)
            tape.gradient(y, x)
            assert not math_library.fetestexcept(underflow), value
