"""The parameters of traced functions agree with `inspect`, which a plain call does not load."""

import functools
import gc
import inspect
import subprocess
import sys
import weakref

import pytest

import dualflow as df
from dualflow.graph.calls.signature import Signature, is_generator_or_coroutine


class Layer:
    def method(self, x, y=1):
        return x + y

    def variadic(*args):
        return args

    def only_args(self, *args):
        return args

    @classmethod
    def of_class(cls, x):
        return x

    def __call__(self, x):
        return x


def plain(a, b=2, /, c=3):
    return a, b, c


@functools.wraps(plain)
def wrapper(*args):
    return plain(*args)


CALLABLES = [plain, wrapper, lambda: 1, lambda *rest: rest, lambda x, *rest: x,
             lambda *rest, k: k, lambda *rest, **k: k, lambda x, *, k: x, lambda **k: k,
             Layer().only_args, Layer, Layer.method, Layer().method, Layer().variadic,
             Layer.of_class, Layer(), functools.partial(plain, 1),
             functools.partial(plain, c=1), len]


@pytest.mark.parametrize("f", CALLABLES)
def test_names_and_kinds_agree_with_inspect(f):
    expected, found = inspect.signature(f), Signature(f)
    parameters = expected.parameters.values()
    assert found.names == list(expected.parameters) and found.full == expected
    assert found.simple == all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
                               for p in parameters)
    if found.only_args:
        assert [p.kind for p in parameters] == [inspect.Parameter.VAR_POSITIONAL]


@pytest.mark.parametrize(("f", "expected"), [(lambda *rest: rest, True), (Layer().only_args, True),
                                             (lambda x, *rest: x, False), (wrapper, False)])
def test_only_args(f, expected):
    assert Signature(f).only_args == expected


def test_a_declared_signature_counts():
    def f(*args):
        return args

    f.__signature__ = inspect.signature(plain)
    assert Signature(f).names == ["a", "b", "c"]


def test_method_without_self_raises():
    class Wrong:
        def method():
            return 1

    with pytest.raises(ValueError, match="signature"):
        Signature(Wrong().method)


def test_the_instance_of_a_method_is_not_kept_alive():
    layer = Layer()
    alive, signature = weakref.ref(layer), Signature(layer.method)
    del layer
    gc.collect()
    assert alive() is None and str(signature.full) == "(x, y=1)"


def generator():
    yield 1


async def coroutine():
    return 1


async def both():
    yield 1


@pytest.mark.parametrize("f", [*CALLABLES, generator, coroutine, both,
                               functools.partial(generator)])
def test_generators_and_coroutines_agree_with_inspect(f):
    assert is_generator_or_coroutine(f) == (
        inspect.isgeneratorfunction(f) or inspect.iscoroutinefunction(f))


def test_calls_by_keyword_and_with_defaults():
    f = df.function(plain)
    one = df.constant(1.)
    for args, kwargs in [((one,), {}), ((one, one), {}), ((one,), {"c": one}), ((one, 5, 6), {})]:
        for _ in range(2):
            a, b, c = f(*args, **kwargs)
            assert [float(x) for x in (a, b, c)] == [float(x) for x in plain(*args, **kwargs)]


@pytest.mark.parametrize("f", [lambda *xs: xs, Layer().only_args])
def test_calls_of_functions_of_args(f):
    traced = df.function(f)
    one = df.constant(1.)
    for args in [(), (one,), (one, 2.), ([one, one],) * 3, (one,)]:
        for _ in range(3):
            expected, made = f(*args), traced(*args)
            assert df.nest.map_structure(float, made) == df.nest.map_structure(float, expected)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        traced(one, x=one)


@pytest.mark.parametrize("parameters", ["x", "*xs"])
def test_the_first_traced_call_loads_no_slow_module(parameters):
    code = (f"import sys, dualflow as df; f = df.function(lambda {parameters}: "
            f"({parameters.strip('*')},)); f(df.constant(1.)); "
            "f(df.constant(2.)); print([m for m in ('ast', 'dataclasses', 'inspect', 'numpy') "
            "if m in sys.modules])")
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
