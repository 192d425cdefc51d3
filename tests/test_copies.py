"""Traced functions are copied and pickled as a Python function and its options."""

import copy
import pickle
import subprocess
import sys

import pytest

import dualflow as df

COPIES = {"deepcopy": copy.deepcopy, "copy": copy.copy,
          "pickle": lambda x: pickle.loads(pickle.dumps(x))}
X = df.constant([1., 2.])


def plain(x):
    return x * 2. + 1.


@df.function(fast_math=True)
def decorated(x):
    return x * 2.


class Model:
    """A model with a decorated method and a traced bound method."""

    def __init__(self):
        self.v = df.Variable([3., 4.])
        self.own = df.function(self.twice, name="twice in one")

    def twice(self, x):
        return x * self.v * 2.

    @df.function
    def step(self, x):
        self.v.assign_add(x)
        return self.v.value()


@pytest.mark.parametrize("how", COPIES)
def test_copied_function_is_traced_separately(how):
    f = df.function(plain, [df.TensorSpec([None])], name="f", fast_math=True, passes=False)
    f(X)
    g = COPIES[how](f)
    assert g is not f and g.python_function is plain and g.name == "f"
    assert g.options == f.options and g.input_signature == f.input_signature
    assert (g.experimental_get_tracing_count(), f.experimental_get_tracing_count()) == (0, 1)
    assert g(X).tolist() == f(X).tolist() == [3., 5.]
    with pytest.raises(df.errors.ShapeError):
        g(df.ones([2, 2]))


@pytest.mark.parametrize("how", COPIES)
def test_module_level_functions_are_copied_by_name(how):
    """Plain Python functions are copied and pickled by name as well."""
    assert COPIES[how](decorated) is decorated
    assert COPIES[how](Model.step) is Model.step


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_methods_are_copied_with_their_object(how):
    model = Model()
    model.step(X), model.own(X)
    other, step = COPIES[how]((model, model.step))
    assert step.__self__ is other
    assert other.own(X).tolist() == model.own(X).tolist()
    assert step(X).tolist() == [5., 8.] == other.v.tolist()
    assert model.v.tolist() == [4., 6.]
    other.v.assign([0., 0.])
    assert other.own(X).tolist() == [0., 0.] != model.own(X).tolist()


def test_closure_is_shared_by_copies_and_not_pickled():
    v = df.Variable([1., 1.])
    f = df.function(lambda x: x * v)
    f(X)
    g = copy.deepcopy(f)
    v.assign([2., 2.])
    assert g(X).tolist() == [2., 4.]
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(f)


@pytest.mark.parametrize("how", COPIES)
def test_copying_a_trace_raises(how):
    concrete = df.function(plain).get_concrete_function(X)
    with pytest.raises(TypeError, match=r"plain: a trace .* copy or pickle the function"):
        COPIES[how](concrete)
    assert concrete(X).tolist() == [3., 5.]


RELOAD = """
import importlib
import dualflow as df
v = df.Variable([1., 2.])
optimizer = df.optimizers.SGD(0.5, momentum=0.5)
step = df.function(lambda x: optimizer.minimize(lambda: df.reduce_sum(v * x), [v]))
x = df.constant([1., 2.])
step(x)
importlib.reload(df)
step(x)
with df.GradientTape() as tape:
    loss = df.reduce_sum(v * v)
assert tape.gradient(loss, v).tolist() == (v + v).tolist()
f = df.function(lambda x: df.nn.softmax(x) + df.random.normal([2]))
f(x), repr(x), repr(v), x + 1
w = df.Variable([1., 2.])
again = df.optimizers.Adam(0.5)
again.minimize(lambda: df.reduce_sum(w * w), [w])
try:
    df.gather(x, 5)
    raise SystemExit("no error")
except df.errors.OutOfRangeError:
    pass
import pkgutil
for m in pkgutil.walk_packages(df.ops.__path__, "dualflow.ops."):    # as one edits them
    importlib.reload(importlib.import_module(m.name))
with df.GradientTape() as tape:
    loss = df.reduce_sum(df.exp(w) * w)
assert tape.gradient(loss, w).shape == (2,)
print("done")
"""


def test_package_can_be_reloaded():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", RELOAD], capture_output=True,
                          text=True)
    assert done.stdout == "done\n", done.stderr
