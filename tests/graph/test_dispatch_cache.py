"""The dispatch cache: a hit runs the program at once, and only if Python would behave the same."""

import collections
import dataclasses
import gc
import itertools
import random
import sys
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import dualflow as df
from dualflow._core import CacheEntry, container_guard, leaf_guard
from dualflow.graph.calls.function import Function

A, B, C = df.constant([1., 2.]), df.constant([30., 40.]), df.constant([500., 600.])
WIDE = df.constant([1., 2., 3.])


class Pair(NamedTuple):
    a: Any
    b: Any


class Other(NamedTuple):
    a: Any
    b: Any


class Backwards(Pair):
    def __iter__(self):
        return iter((self.b, self.a))


class Loud(list):
    def __iter__(self):
        return iter([x * 2. for x in list.__iter__(self)])


class Text(str):
    pass


@dataclasses.dataclass
class Box:
    a: Any
    b: Any


@pytest.fixture
def slow(monkeypatch):
    """A list that grows by one entry for each call that takes the slow path."""
    calls = []
    call_slow_path = Function.call_slow_path

    def counted(self, args, kwargs):
        calls.append((args, kwargs))
        return call_slow_path(self, args, kwargs)

    monkeypatch.setattr(Function, "call_slow_path", counted)
    return calls


def described(x):
    """Return a structure as text, and its tensors."""
    if isinstance(x, df.Tensor):
        return "tensor", [x]
    if isinstance(x, dict):
        inner = [described(v) for v in x.values()]
        words = ", ".join(f"{type(k).__name__} {k!r}: {w}"
                          for k, (w, _) in zip(x, inner, strict=True))
    elif isinstance(x, list | tuple):
        inner = [described(v) for v in x]
        words = ", ".join(w for w, _ in inner)
    elif isinstance(x, Box):
        inner = [described(x.a), described(x.b)]
        words = f"a={inner[0][0]}, b={inner[1][0]}"
    else:
        return f"{type(x).__name__} {x!r}", []
    return f"{type(x).__name__}({words})", [t for _, ts in inner for t in ts]


def everything(*args, **kwargs):
    """Return everything that Python can observe of its arguments, and a weighted sum of the
    tensors."""
    words, tensors = described((args, kwargs))
    total = 0.
    for k, x in enumerate(tensors):
        total = total + df.reduce_sum(x) * float(k + 1)
    return words, total


def same(traced, python, *args, **kwargs):
    """Assert that a traced call returns what Python returns: types, order and values."""
    got, want = traced(*args, **kwargs), python(*args, **kwargs)
    as_number = [y.item() if isinstance(y, df.Tensor) else y for y in (got[1], want[1])]
    assert got[0] == want[0] and as_number[0] == as_number[1]


# --- cache hits -----------------------------------------------------------------------------------

@pytest.mark.parametrize("args, kwargs", [
    ((A, B), {}), ((A,), {"y": B}), ((), {"x": A, "y": B}), ((), {"y": B, "x": A}),
    (((A, B),), {}), (([A, [B, C]], A), {}), (({"b": A, "a": (B, [C])},), {}),
    ((Pair(A, B),), {"z": Pair([A], {})}), (([], (), {}, A), {}), ((A, 2., "relu", None), {}),
    (({1: A, "a": B, (2, 3): C},), {}), ((A, 3), {"k": True}),
])
def test_second_call_is_a_cache_hit(slow, args, kwargs):
    f = df.function(everything)
    first = f(*args, **kwargs)
    n = len(slow)
    for _ in range(3):
        again = f(*args, **kwargs)
        assert again[0] == first[0] and again[1].item() == first[1].item()
    assert n == 1 and len(slow) == 1


def test_other_tensors_at_the_same_positions(slow):
    f = df.function(everything)
    for x, y, z in itertools.permutations([A, B, C]):
        same(f, everything, {"b": x, "a": [y, (z, x)]}, k=Pair(y, z), j=x)
    x = [A, B]
    same(f, everything, x)
    x[0] = C                        # same list, new contents
    same(f, everything, x)
    assert len(slow) == 2


def test_equal_numbers_and_strings_hit(slow):
    f = df.function(lambda x, k, word: (df.cast(x, "float64") * k, f"{k} {word}"))
    for _ in range(5):
        k, word = float("1e3"), "".join(["re", "lu"])
        assert f(A, k, word)[1] == "1000.0 relu" and f(A, 10 ** 3, word=word)[1] == "1000 relu"
    assert len(slow) == 2


def test_defaults_of_all_kinds(slow):
    @df.function
    def f(x, k=2., y=B, *, scale=C, name="n"):
        return x * k + y * scale, name

    for _ in range(3):
        assert f(A)[0].tolist() == [2. + 15000., 4. + 24000.]
        assert f(A, y=A)[0].tolist() == [502., 1204.] and f(A, name="m")[1] == "m"
    assert len(slow) == 3


@pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning")
def test_more_call_patterns_than_cache_entries():
    f = df.function(everything)
    ways = [({f"k{n}": A, "z": B}, [C] * n) for n in range(20)]
    for _ in range(3):
        for kwargs, rest in ways:
            same(f, everything, *rest, **kwargs)


# --- cache misses ---------------------------------------------------------------------------------

ALIKE = [
    lambda: [A, B], lambda: (A, B), lambda: Pair(A, B), lambda: Other(A, B), lambda: [B, A],
    lambda: Backwards(A, B), lambda: Loud([A, B]), lambda: Box(A, B), lambda: [A, B, C],
    lambda: [A], lambda: [[A], B], lambda: [A, WIDE], lambda: [A, df.cast(B, "float64")],
    lambda: {"a": A, "b": B}, lambda: {"b": B, "a": A}, lambda: {"a": A, "c": B},
    lambda: {"a": A, "b": B, "c": C}, lambda: {Text("a"): A, "b": B},
    lambda: collections.OrderedDict(a=A, b=B), lambda: collections.OrderedDict(b=B, a=A),
    lambda: collections.defaultdict(list, a=A, b=B), lambda: {"a": A, "b": {}},
    lambda: {1: A, 2: B}, lambda: {True: A, 2: B}, lambda: {1.: A, 2: B}, lambda: {1: A, 2.: B},
    lambda: [A, 1], lambda: [A, 1.], lambda: [A, True], lambda: [A, 0.], lambda: [A, -0.],
    lambda: [A, float("nan")], lambda: [A, None], lambda: [A, "1"], lambda: [A, Text("1")],
    lambda: [A, 2 ** 70], lambda: [A, 2 ** 70 + 1], lambda: [A, np.float64(1.)],
    lambda: [A, {1, 2}], lambda: [A, bytearray(b"1")], lambda: [A, b"1"],
    lambda: A, lambda: None, lambda: [A.numpy(), B], lambda: {"a": A.numpy(), "b": B},
]


def test_similar_arguments_in_any_order():
    f = df.function(everything)
    rng = random.Random(5)
    with pytest.warns(df.errors.RetracingWarning):
        for _ in range(3):
            for make in rng.sample(ALIKE, len(ALIKE)):
                value = make()
                plain = df.nest.map_structure(
                    lambda x: df.constant(x) if isinstance(x, np.ndarray) else x, value)
                for given in ((value,), {"p": value}):
                    args, kwargs = (given, {}) if isinstance(given, tuple) else ((), given)
                    words, total = f(*args, **kwargs)
                    want = everything(plain) if args else everything(p=plain)
                    assert words == want[0].replace("ndarray", "tensor")
                    got = total.item() if isinstance(total, df.Tensor) else total
                    assert got == (want[1].item() if isinstance(want[1], df.Tensor) else want[1])


@pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning")
def test_random_structures():
    rng = random.Random(3)

    def value(depth):
        kinds = ["list", "tuple", "pair", "dict", "number"] if depth else []
        kind = rng.choice(["tensor"] * 3 + kinds)
        if kind == "tensor":
            return rng.choice([A, B, C, WIDE])
        if kind == "number":
            return rng.choice([1, 2., True, None, "t", 0., -0.])
        inside = [value(depth - 1) for _ in range(rng.randint(0, 3))]
        if kind == "pair":
            return Pair(value(depth - 1), value(depth - 1))
        if kind == "dict":
            return dict(zip(rng.sample(["a", "b", "c", 1, (2,)], len(inside)), inside, strict=True))
        return inside if kind == "list" else tuple(inside)

    f = df.function(everything)
    calls = [([value(2) for _ in range(rng.randint(0, 2))],
              {k: value(2) for k in rng.sample("pqr", rng.randint(0, 3))}) for _ in range(12)]
    for args, kwargs in rng.choices(calls, k=60):
        same(f, everything, *args, **kwargs)


def test_keyword_arguments_in_another_order():
    f = df.function(lambda **kw: (list(kw), kw["a"] - kw["b"]))
    for _ in range(3):
        assert f(a=A, b=B)[0] == ["a", "b"] and f(b=B, a=A)[0] == ["b", "a"]
        assert f(b=A, a=B)[1].tolist() == [29., 38.] and f(a=B, b=A)[1].tolist() == [29., 38.]
        assert f(**{Text("a"): A, "b": B})[1].tolist() == [-29., -38.]


def test_defaults_that_change():
    options, pair = {"k": 2.}, [A, B]

    @df.function
    def f(x, o=options, p=pair):
        return x * o["k"] + p[0]

    assert [f(A).tolist() for _ in range(3)] == [[3., 6.]] * 3
    options["k"] = 3.
    assert f(A).tolist() == f(A).tolist() == [4., 8.]
    pair[0] = C
    assert f(A).tolist() == f(x=A).tolist() == [503., 606.]
    pair.append(C)
    del options["k"]
    with pytest.raises(KeyError):
        f(A)


def test_static_argument_that_changes_in_place():
    seen = {1}
    f = df.function(lambda x, s: x * float(len(s)))
    assert f(A, seen).tolist() == f(A, seen).tolist() == [1., 2.]
    seen.add(2)
    assert f(A, seen).tolist() == f(A, s=seen).tolist() == [2., 4.]


def test_structure_that_becomes_cyclic():
    f = df.function(lambda p: p[0] * 2.)
    p = [A, B]
    assert f(p).tolist() == f(p).tolist() == [2., 4.]
    p[1] = p
    with pytest.raises(df.errors.InvalidArgumentError, match="contains itself"):
        f(p)


@pytest.mark.parametrize("args, kwargs", [
    ((), {}), ((A,), {}), ((A, B, C), {}), ((A, B), {"x": A}), ((A,), {"y": B, "z": C}),
    ((A,), {"Y": B}), ((), {"x": A, "y": B, "k": 1., "w": 2.}),
])
def test_wrong_arguments_raise_the_same_error_on_each_call(args, kwargs):
    def python(x, y, *, k=1.):
        return x + y * k

    f = df.function(python)
    for _ in range(3):
        f(A, B), f(A, y=B), f(x=A, y=B, k=2.), f(y=B, x=A)
    with pytest.raises(TypeError) as fresh:
        df.function(python)(*args, **kwargs)
    with pytest.raises(TypeError, match=r"missing|unexpected|multiple|too many"):
        f(*args, **kwargs)
    with pytest.raises(TypeError) as later:
        f(*args, **kwargs)
    assert str(later.value) == str(fresh.value)
    with pytest.raises(TypeError):
        python(*args, **kwargs)


def test_input_signature_is_checked_on_cached_calls(slow):
    spec = df.TensorSpec([None], df.float32)
    f = df.function(lambda p, k: p["a"] * k, input_signature=[{"a": spec}, spec])
    for _ in range(3):
        assert f({"a": A}, B).tolist() == f({"a": A}, k=B).tolist() == [30., 80.]
    assert len(slow) == 2
    for wrong in (({"a": df.constant([1])}, B), ({"b": A}, B), ([A], B),
                  ({"a": A}, df.ones([1, 2]))):
        with pytest.raises(df.errors.DualflowError):
            f(*wrong)
    assert f({"a": WIDE}, WIDE).tolist() == [1., 4., 9.]
    assert f({"a": A}, [2., 2.]).tolist() == f({"a": A.numpy()}, k=[2., 2.]).tolist() == [2., 4.]


def test_variables_in_structures():
    v, w = df.Variable([1., 1.]), df.Variable([2., 2.])
    f = df.function(lambda p: p["v"].assign_add(p["x"]))
    for _ in range(3):
        f({"v": v, "x": A}), f({"v": w, "x": A}), f(p={"x": A, "v": w})
    assert v.tolist() == [4., 7.] and w.tolist() == [8., 14.]
    both = df.function(lambda p: p[0].assign_add(p[1]))
    both([v, w]), both([v, w]), both([v, v])
    assert v.tolist() == [40., 70.]


def test_objects_that_hold_tensors(slow):
    class Holder:
        def __init__(self, held):
            self.held = held

        def __df_tensor__(self):
            return self.held

    f = df.function(lambda p: p["x"] * 2.)
    h = Holder(A)
    assert f({"x": h}).tolist() == f({"x": h}).tolist() == [2., 4.]
    h.held = B
    assert f({"x": h}).tolist() == f({"x": B}).tolist() == [60., 80.]


def test_calls_under_a_tape_and_after_it():
    f = df.function(lambda p, *, k: p["x"] * p["x"] * k)
    for _ in range(3):
        with df.GradientTape() as tape:
            tape.watch(A)
            y = f({"x": A}, k=B)
        assert tape.gradient(y, A).tolist() == [60., 160.]
        assert f({"x": A}, k=B).tolist() == [30., 160.]


def test_calls_inside_another_trace():
    inner = df.function(lambda p, k=A: p["x"] * k)
    outer = df.function(lambda x: inner({"x": x}) + inner(k=x, p={"x": x}))
    for _ in range(3):
        assert inner({"x": A}).tolist() == [1., 4.] and outer(A).tolist() == [2., 8.]


# --- references -----------------------------------------------------------------------------------

def test_partial_matches_leak_no_references():
    f = df.function(lambda p: p["a"][0] + p["a"][1])
    x, y = df.constant([1., 2.]), df.constant([3., 4.])
    good, bad = {"a": [x, y]}, {"a": [x, WIDE]}
    f(good), f(good)
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(None)
    for _ in range(100):
        f(good)
        with pytest.raises(df.errors.ShapeError):
            f(bad)
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(None)
    assert after[:2] == before[:2] and abs(after[2] - before[2]) < 50


def test_cache_keeps_no_tensors_alive():
    f = df.function(lambda p, k: (p[0] * k, p))
    x, y = df.constant([1., 2.]), df.constant([3., 4.])
    gone = weakref.ref(x), weakref.ref(y)
    f([x], k=y), f([x], k=y)
    del x, y
    assert gone[0]() is None and gone[1]() is None


def test_invalid_guards_raise():
    leaf = leaf_guard(0, A, False)
    program = df.function(lambda x: x + x).compiled_for(A).executable
    for n, args in [(2, [leaf]), (1, [leaf, leaf]), (0, [leaf]), (1, [leaf_guard(1, A, False)]),
                    (1, [None]), (1, [A])]:
        with pytest.raises(TypeError):
            CacheEntry(program, n, args, {}, [], False, None, None)
    for bad in [(list, [A]), (set, [leaf]), (dict, [leaf]), (dict, [leaf], []),
                (list, [leaf], ["a"])]:
        with pytest.raises(TypeError):
            container_guard(*bad)


def test_threads_that_mutate_shared_arguments():
    f = df.function(lambda p: p["x"][0] + p["x"][1])
    shared = {"x": [A, B]}
    done = threading.Event()

    def change():
        while not done.is_set():
            shared["x"][0] = df.constant([1., 2.])
            shared["x"] = [df.constant([1., 2.]), df.constant([30., 40.])]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2000):
            assert f(shared).tolist() == [31., 42.]
    finally:
        done.set()
        thread.join()
