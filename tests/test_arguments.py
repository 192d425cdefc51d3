"""Numeric arguments: a value of the wrong type or range is rejected by a message that names the
function, the argument and the accepted values."""

import inspect

import numpy as np
import pytest

import dualflow as df
from dualflow._util import arguments
from dualflow.optimizers import schedules

NO_NUMBERS = ["a", "0.5", b"1", [1., 2.], {}, 1j, object(), None]
X = df.constant([0.25, 0.5])


def refused(call, kind, *words):
    with pytest.raises(kind) as raised:
        call()
    assert all(word in str(raised.value) for word in words), raised.value


# Classes with numeric arguments, and the arguments that they require.
OPTIMIZERS = {getattr(df.optimizers, name): {} for name in df.optimizers.__all__
              if name not in ("Optimizer", "LossScaleOptimizer", "schedules")}
SCHEDULES = {getattr(schedules, name): {"initial_learning_rate": 0.5, "decay_steps": 10}
             for name in schedules.__all__ if name.endswith("Decay") and "Piecewise" not in name}
for _kind in (schedules.ExponentialDecay, schedules.InverseTimeDecay):
    SCHEDULES[_kind]["decay_rate"] = 0.5
INITIALIZERS = {getattr(df.initializers, name): {} for name in dir(df.initializers)
                if name[0].isupper() and name != "Initializer"}
CLASSES = {**OPTIMIZERS, **SCHEDULES, **INITIALIZERS}
PLAIN = {"name", "seed", "mode", "distribution", "value", "learning_rate",      # not numeric
         "nesterov", "amsgrad", "centered", "use_ema", "staircase", "cycle"}
ANY_SIGN = {"mean", "minval", "maxval", "gain", "power"}
WHOLE = {"ema_overwrite_frequency", "gradient_accumulation_steps"}
NUMBERS = [(kind, name) for kind in CLASSES for name in inspect.signature(kind).parameters
           if name not in PLAIN]


@pytest.mark.parametrize("kind, name", NUMBERS, ids=lambda x: getattr(x, "__name__", x))
def test_numeric_arguments_of_classes_reject_bad_values(kind, name):
    default = inspect.signature(kind).parameters[name].default
    optional = default is None or name in ("weight_decay", "maxval")
    given = CLASSES[kind]
    limit = "an integer of at least" if name in WHOLE else "expected a"
    for wrong in NO_NUMBERS[:-1] if optional else NO_NUMBERS:
        error = ValueError if name in WHOLE else TypeError
        refused(lambda wrong=wrong: kind(**{**given, name: wrong}), error,
                f"{kind.__name__}: {name} is ", limit)
    if name not in ANY_SIGN:
        for wrong in (-1, -0.5, float("nan")):
            refused(lambda wrong=wrong: kind(**{**given, name: wrong}), ValueError,
                    f"{kind.__name__}: {name} is {wrong}, ", limit)
    made = kind(**given)
    before = getattr(made, name)
    with pytest.raises((TypeError, ValueError), match=f"{name} is 'a'"):
        setattr(made, name, "a")
    assert getattr(made, name) == before                # the old value is retained


def test_every_numeric_argument_has_a_limit():
    for kind in CLASSES:
        own = {name for base in kind.__mro__ for name in inspect.get_annotations(base)}
        found = {name for k, name in NUMBERS if k is kind} - WHOLE
        assert found <= {*kind.limits}
        assert kind not in OPTIMIZERS or {*kind.limits} <= own


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("wrong", ["0.1", None, [0.1], 1j, {}])
def test_learning_rate_rejects_bad_values(kind, wrong):
    words = f"{kind.__name__}: learning_rate is {wrong!r}, expected a number"
    refused(lambda: kind(wrong), TypeError, words)
    made = kind(0.5)
    refused(lambda: setattr(made, "learning_rate", wrong), TypeError, words)
    refused(lambda: kind(-0.5), ValueError, f"{kind.__name__}: learning_rate is -0.5, expected")
    refused(lambda: setattr(made, "learning_rate", -0.5), ValueError,
            "learning_rate is -0.5, expected")
    assert made.learning_rate.item() == 0.5


def test_piecewise_schedule_rejects_bad_boundaries_and_values():
    for bad in (["a"], [None], [1j], [[1]]):
        refused(lambda bad=bad: schedules.PiecewiseConstantDecay(bad, [1., 2.]), TypeError,
                "PiecewiseConstantDecay: boundaries[0] is")
        refused(lambda bad=bad: schedules.PiecewiseConstantDecay([], bad), TypeError,
                "PiecewiseConstantDecay: values[0] is")
    for bad in ("ab", 3):
        refused(lambda bad=bad: schedules.PiecewiseConstantDecay(bad, [1., 2.]), TypeError,
                f"boundaries is {bad!r}")


IMAGE = df.ones([1, 3, 3, 2])
CALLS = {                        # function: (argument named in the message, call)
    "nn.dropout": ("rate", lambda v: df.nn.dropout(X, v)),
    "nn.scaled_dot_product_attention": (
        "dropout_p",
        lambda v: df.nn.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, dropout_p=v)),
    "nn.leaky_relu": ("alpha", lambda v: df.nn.leaky_relu(X, v)),
    "nn.local_response_normalization": (
        "bias", lambda v: df.nn.local_response_normalization(IMAGE, bias=v)),
    "random.normal": ("stddev", lambda v: df.random.normal([2], stddev=v)),
    "random.uniform": ("minval", lambda v: df.random.uniform([2], minval=v)),
    "random.truncated_normal": ("mean", lambda v: df.random.truncated_normal([2], mean=v)),
    "random.stateless_normal": (
        "stddev", lambda v: df.random.stateless_normal([2], [1, 2], stddev=v)),
    "random.set_seed": ("seed", lambda v: df.random.set_seed(v)),
    "linalg.lstsq": ("l2_regularizer", lambda v: df.linalg.lstsq(
        [[1., 2.], [3., 5.]], [[1.], [2.]], v)),
    "linalg.norm": ("ord", lambda v: df.norm(X, v)),
    "linalg.pinv": ("rcond", lambda v: df.linalg.pinv([[1., 2.], [3., 5.]], v)),
    "math.confusion_matrix": ("num_classes", lambda v: df.math.confusion_matrix([1], [1], v)),
    "boolean_mask": ("axis", lambda v: df.boolean_mask(X, [True, False], v)),
    "assert_less": ("summarize", lambda v: df.debugging.assert_less(X, 1., summarize=v)),
}
MAY_BE_NONE = {"linalg.pinv", "math.confusion_matrix", "boolean_mask", "assert_less"}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("traced", [False, True])
def test_numeric_arguments_of_functions_reject_bad_values(name, traced):
    argument, call = CALLS[name]
    for wrong in NO_NUMBERS:
        if not wrong and name in MAY_BE_NONE:
            continue
        run = df.function(lambda wrong=wrong: call(wrong)) if traced else lambda wrong=wrong: call(
            wrong)
        refused(run, (TypeError, ValueError), argument)
        with pytest.raises(df.errors.DualflowError):
            run()


def test_numpy_scalars_tensors_and_variables_are_accepted():
    for half in (0.5, np.float32(0.5), np.array(0.5), df.constant(0.5), df.Variable(0.5)):
        assert arguments.number(half, "x", arguments.SHARE) is half
    assert arguments.number(True, "x") is True
    assert arguments.number(None, "x", arguments.POSITIVE.or_none()) is None
    with pytest.raises(df.errors.TracedValueError):         # not "x is <Symbol>, ..."
        df.function(lambda x: df.nn.dropout(x, x[0]))(X)


@pytest.mark.parametrize("call, words", [
    (lambda value: X.var(ddof=value), "var: ddof"), (lambda value: X.std(ddof=value), "std: ddof"),
    (lambda value: X.round(value), "round: digits"),
    (lambda value: round(X, value), "round: digits")])
@pytest.mark.parametrize("value", ["a", np.array(["2000"], "datetime64[D]")], ids=["text", "date"])
def test_methods_of_numpy(call, words, value):
    refused(lambda: call(value), df.errors.DTypeError, words, "expected a")
