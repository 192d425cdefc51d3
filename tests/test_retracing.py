"""When a function is traced again and when it is not, with reports and warnings about tracing."""

import cmath
import gc
import math
import warnings
import weakref

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import RetracingWarning
from dualflow.graph.calls.arguments import variable_leaf
from dualflow.graph.calls.function import MAX_PLANS, MAX_TRACES


def counted(f, **options):
    """Return the traced function, and a list that grows by one entry each time Python runs."""
    runs = []

    def counting(*args, **kwargs):
        runs[len(runs):] = [1]
        return f(*args, **kwargs)

    return df.function(counting, **options), runs


@pytest.fixture(autouse=True)
def expected_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*changed runs while it was traced")
        yield


def number(x):
    return x.numpy().tolist()


# --- Python numbers -----------------------------------------------------------------------------

@pytest.mark.parametrize("values", [[k * .5 for k in range(50)], list(range(50))])
def test_changing_numbers_become_inputs(values):
    f, runs = counted(lambda x, k: x * k + k)
    x = df.constant([1., 2.])
    for k in values:
        assert number(f(x, k)) == [2. * k, 3. * k]
    assert f.experimental_get_tracing_count() == 2
    assert len(runs) == 3               # the generalized trace is traced twice, to compare


def test_complex_numbers_are_part_of_the_key():
    """Each value is traced, with a warning, including the signs of zeros; a tensor is not."""
    angle, _ = counted(df.math.angle, name="angle")
    values = [complex(-1., 0.), complex(-1., -0.), complex(0., 0.), complex(-0., 0.), 1j, 1j]
    for z in values:
        assert angle(z).item() == cmath.phase(z)
    assert angle.experimental_get_tracing_count() == 5
    with pytest.warns(RetracingWarning, match=r"angle was traced 12 times.*became"):
        for k in range(12):
            assert angle(complex(1, k)).item() == pytest.approx(cmath.phase(complex(1, k)))
    of_tensors, runs = counted(df.math.angle)
    for k in range(5):
        assert of_tensors(df.constant(complex(1, k))).item() == pytest.approx(
            cmath.phase(complex(1, k)))
    assert len(runs) == 1
    product, _ = counted(lambda x, k: x * k)
    x = df.constant([1., 2.])
    assert [product(x, k).dtype for k in (2., 2, 2 + 0j)] == [df.float32, df.float32, df.complex64]


def test_arithmetic_on_number_arguments():
    f, runs = counted(lambda x, k: x * (1. - k) / (k * k + 2) - abs(-k) % 3)
    x = df.constant(3., df.float64)
    for k in (.5, 1.5, 2.5, 3.5, .5):
        want = 3. * (1. - k) / (k * k + 2) - abs(-k) % 3
        assert number(f(x, k)) == pytest.approx(want, rel=1e-15)
    assert f.experimental_get_tracing_count() == 2 and len(runs) == 3


def test_number_inputs_give_the_bits_of_constants():
    f, _ = counted(lambda x, k: df.exp(x * k) / k)
    x = df.constant(np.linspace(-3, 3, 17), df.float32)
    for k in (.1, .3, .7, 1.1):
        np.testing.assert_array_equal(f(x, k).numpy(), (df.exp(x * k) / k).numpy())


def test_ints_and_floats_get_separate_traces():
    f, _ = counted(lambda x, k: x * k)
    x = df.constant([3, 4])
    for k in (1, 2, 3, 4):
        assert f(x, k).dtype is df.int32
        assert number(f(x, k)) == [3 * k, 4 * k]
    for k in (1.5, 2.5, 3.5):
        assert f(x, k).dtype is df.float32
        assert number(f(x, k)) == [3 * k, 4 * k]


def test_ints_of_other_widths():
    f, _ = counted(lambda x, k: x + k)
    for k in (1, 2, 3, 4):
        y = f(df.constant([1], df.int64), k + 2**40)
        assert number(y) == [1 + k + 2**40] and y.dtype is df.int64


@pytest.mark.parametrize("decides", [
    lambda x, n: df.add_n([x for _ in range(n)]),
    lambda x, n: x * 3. if n > 3 else x * float(2 * n),
    lambda x, n: df.reduce_sum(df.zeros([n]) + 1.) * x,
    lambda x, n: df.reshape(x, [1] * n) if n else x,
    lambda x, n: x * len("abcdefgh"[:n]),
])
def test_numbers_that_python_branches_on_stay_static(decides):
    f, runs = counted(decides)
    x = df.constant(2.)
    for n in (1, 2, 3, 4, 5, 4, 3, 2, 1):
        np.testing.assert_array_equal(f(x, n).numpy(), decides(x, n).numpy())
    assert len(runs) <= 7                       # one for each number, one failed generalization


def test_static_and_input_numbers_in_one_call():
    f, runs = counted(lambda x, n, k: df.add_n([x * k for _ in range(n)]))
    x = df.constant(1.)
    for k in range(20):
        assert number(f(x, 2, float(k))) == 2. * k
    assert f.experimental_get_tracing_count() == 2 and len(runs) == 3
    for k in range(20):
        assert number(f(x, 3, float(k))) == 3. * k
    assert f.experimental_get_tracing_count() == 3 and len(runs) <= 6


def test_bools_and_strings_are_always_static():
    f, runs = counted(lambda x, flag, word: x if flag else x * float(len(word)))
    x = df.constant(2.)
    for flag, word in [(True, "a"), (False, "b"), (False, "cc"), (False, "ddd"), (True, "a")]:
        assert number(f(x, flag, word)) == (2. if flag else 2. * len(word))
    assert len(runs) == 4


# --- sizes --------------------------------------------------------------------------------------

def test_changing_batch_sizes_become_unknown():
    f, runs = counted(lambda x: df.reduce_mean(x, axis=1) * 2.)
    for n in [3, 5, 7, 9, 11, 13, 1, 0, 3, 20]:
        assert number(f(df.ones([n, 4]))) == [2.] * n
    assert len(runs) == 3
    assert "None, 4" in f.trace_report()


def test_only_changing_dimensions_become_unknown():
    f, _ = counted(lambda x, y: x @ y)
    for n in (1, 2, 3, 4):
        f(df.ones([n, 3]), df.ones([3, 2]))
    assert "float32 (None, 3), args[1]: float32 (3, 2)" in f.trace_report()


def test_sizes_as_numbers():
    f, runs = counted(lambda x: df.reduce_sum(x) / x.shape[0] + df.cast(df.shape(x)[0], df.float32)
                      + df.zeros([x.shape[0]]))
    for n in (1, 2, 3, 4, 5, 6):
        assert number(f(df.ones([n, 4]))) == [4. + n] * n
    assert f.experimental_get_tracing_count() == 3 and len(runs) == 4


def test_branch_on_a_size():
    def decides(x):
        if x.shape[0] == 1:
            return x * 10.
        return x * 2. if x.shape[0] > 4 else x * 3.

    f, _ = counted(decides, input_signature=[df.TensorSpec([None])])
    for n in (2, 1, 3, 6, 5, 1, 2, 9, 0):
        np.testing.assert_array_equal(f(df.ones([n])).numpy(), decides(df.ones([n])).numpy())
    assert f.experimental_get_tracing_count() == 3
    assert "Python decides otherwise for these sizes" in f.trace_report()


def test_python_loop_over_a_size():
    def loop(x):
        total = x[0]
        for k in range(1, x.shape[0]):
            total = total + x[k]
        return total

    f, runs = counted(loop, input_signature=[df.TensorSpec([None])])
    for n in (1, 2, 3, 4, 3, 2, 1):
        assert number(f(df.range(1., n + 1.))) == sum(range(1, n + 1))
    assert f.experimental_get_tracing_count() == 4 and len(runs) == 8


def test_broadcast_by_an_unknown_size():
    f, _ = counted(lambda x, y: x + y,
                   input_signature=[df.TensorSpec([None, 3]), df.TensorSpec([None, 3])])
    for n, m in [(2, 2), (1, 4), (4, 1), (1, 1), (5, 5)]:
        assert f(df.ones([n, 3]), df.ones([m, 3])).shape == (max(n, m), 3)
    with pytest.raises(df.errors.ShapeError, match=r"\(2, 3\)"):
        f(df.ones([2, 3]), df.ones([3, 3]))
    assert f(df.ones([2, 3]), df.ones([2, 3])).shape == (2, 3)


def test_rank_and_dtype_get_separate_traces():
    f, runs = counted(lambda x: x + x)
    for x in (df.ones([2]), df.ones([2, 2]), df.ones([2], df.float64), df.ones([2], df.int32)):
        f(x), f(x)
    assert len(runs) == 4


# --- reports and warnings -----------------------------------------------------------------------

def test_trace_report_names_the_argument():
    @df.function
    def step(batch, rate, mode="train"):
        return batch["x"] * rate

    def call(n, rate=1., dtype=df.float32, **kwargs):
        step({"x": df.ones([n], dtype)}, rate, **kwargs)

    call(2)
    call(3)
    call(3, dtype=df.float64)
    call(3, mode="test")
    lines = step.trace_report().splitlines()
    assert lines[0] == "step: 4 traces"
    assert "first call" in lines[1] and " ms" in lines[1]
    assert "batch['x']: float32 (2,) became float32 (3,)" in lines[2]
    assert "batch['x']: float32 (3,) became float64 (3,)" in lines[3]
    assert "mode: 'train' became 'test'" in lines[4]


def test_retracing_warns_once():
    f = df.function(lambda x, word: x, name="storm")
    x = df.constant(1.)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(40):
            f(x, f"word {k}")
    said = [str(w.message) for w in caught if issubclass(w.category, RetracingWarning)]
    assert len(said) == 1
    assert "storm was traced 12 times" in said[0] and "word: 'word 10' became 'word 11'" in said[0]
    assert caught[0].filename == __file__


# --- caches -------------------------------------------------------------------------------------

def test_caches_are_bounded():
    f, _ = counted(lambda x, word: x * float(len(word)))
    x = df.constant(1.)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(MAX_TRACES + 20):
            assert number(f(x, "w" * k)) == k
    assert len(f._traces) <= MAX_TRACES
    assert len(f._calls) <= MAX_PLANS
    assert number(f(x, "w" * 3)) == 3.


def test_plans_are_bounded():
    f, runs = counted(lambda x: x + 1., input_signature=[df.TensorSpec([None])])
    for n in range(MAX_PLANS + 50):
        assert f(df.zeros([n])).shape == (n,)
    assert len(runs) == 1
    assert len(f._calls) <= MAX_PLANS
    assert all(len(c._plans) <= MAX_PLANS for c in f._traces)
    assert f(df.zeros([2])).shape == (2,)


def test_evicted_cache_entries_are_freed():
    class Token:
        pass

    f = df.function(lambda x, token: x + 1.)
    token = Token()
    f(df.constant(1.), token)
    trace = weakref.ref(f.get_concrete_function(df.constant(1.), token))
    gone = weakref.ref(token)
    del token
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(MAX_PLANS + MAX_TRACES):
            f(df.constant(1.), Token())
    gc.collect()
    assert gone() is None and trace() is None


def test_python_arithmetic_on_sizes():
    def f(x):
        n = x.shape[0]
        return (x * float(math.sqrt(n)) + round(n * 1.6) + round(n) + math.floor(n / 2)
                + divmod(n, 2)[1] + divmod(7, n)[0] + max(n, 2) + sum(x.shape) + {2: 5., 3: 6.}[n])

    traced, _ = counted(f, input_signature=[df.TensorSpec([None, 3])])
    for n in (2, 3, 2, 3):
        x = df.ones([n, 3])
        np.testing.assert_array_equal(traced(x).numpy(), f(x).numpy())


def test_variables_with_chosen_names_are_part_of_the_key():
    for name, shown in (("Variable_12", ""), ("Variable_a", "Variable_a "), ("W_1", "W_1 "),
                        ("MyVariable_1", "MyVariable_1 "), ("Variable_1_2", "Variable_1_2 ")):
        assert variable_leaf(df.Variable(1., name=name), 0).name == shown
