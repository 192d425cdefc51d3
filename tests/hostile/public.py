"""Calls public functions with invalid values: `python -m tests.hostile.public --seed S`.

Prints each call before it runs, so that the last line names a call that crashed or hung. A call may
return a result or raise a documented kind of exception; anything else is a failure."""

import argparse
import contextlib
import decimal
import faulthandler
import inspect
import itertools
import os
import random
import signal
import sys
import types
import warnings

import numpy as np

import dualflow as df
from dualflow.errors import DualflowError
from tests.hostile.values import VALUES, EvilError

ALLOWED = (DualflowError, EvilError, decimal.InvalidOperation)
EXACTLY = (TypeError, ValueError)   # Python's errors for wrong arguments; subclasses are errors of
                                    # libraries, such as NumPy's UFuncTypeError
# Parameters that name a file: errors of the operating system are allowed.
OF_NAMES = ("file", "path", "dir", "model")
OF_VALUES = {"memoryview": NotImplementedError, "Grows": MemoryError,   # raised by their methods
             "released memoryview": SystemError,        # by iter() of Python 3.11
             "surrogate": UnicodeEncodeError}
NO_LIMIT = {"very deep"}    # even its repr overflows the stack
SECONDS = 20                      # limit of one call on a loaded machine


class Hang(BaseException):
    """Raised if a call takes too long."""


def give_up(signum, frame):
    raise Hang

# Valid arguments by parameter name.
USUAL = {
    "axis": lambda: 0, "axes": lambda: 1, "perm": lambda: [1, 0], "shape": lambda: [2, 2],
    "dtype": lambda: df.float32, "name": lambda: None, "keepdims": lambda: False,
    "indices": lambda: [0, 1], "segment_ids": lambda: [0, 1], "num_segments": lambda: 2,
    "depth": lambda: 3, "k": lambda: 1, "n": lambda: 2, "num": lambda: 3, "seed": lambda: 1,
    "condition": lambda: [True, False], "mask": lambda: [True, False], "repeats": lambda: 2,
    "multiples": lambda: [2, 1], "paddings": lambda: [[0, 1], [1, 0]], "begin": lambda: [0, 0],
    "end": lambda: [1, 1], "strides": lambda: [1, 1], "size": lambda: [1, 1],
    "num_or_size_splits": lambda: 2, "values": lambda: [[1.0, 2.0], [3.0, 4.0]],
    "labels": lambda: [0, 1], "targets": lambda: [0, 1], "equation": lambda: "ij,jk->ik",
    "rate": lambda: 0.5, "minval": lambda: 0, "maxval": lambda: 5, "num_classes": lambda: 3,
    "func": lambda: df.reduce_sum, "f": lambda: df.reduce_sum, "fn": lambda: df.reduce_sum,
    "summarize": lambda: 3, "batch_dims": lambda: 0, "learning_rate": lambda: 0.1,
    "num_lower": lambda: 0, "num_upper": lambda: 0, "shift": lambda: 1,
}


def tensor():
    return df.constant([[1.0, 2.0], [3.0, 4.0]])


def public(namespace):
    """Return the names of a module that only re-exports names."""
    return [name for name in vars(namespace) if name[0] != "_"]


def modules():
    yield "df", df
    for name in df.__all__:
        value = getattr(df, name)
        if isinstance(value, types.ModuleType) and name != "ops":
            yield f"df.{name}", value
    yield "df.optimizers.schedules", df.optimizers.schedules


def methods(owner, make, kind):
    for name in sorted(dir(kind)):
        method = getattr(kind, name, None)      # absent: names of other libraries
        if callable(method) and name not in SPARED and (name[0] != "_" or name[:2] == "__"):
            yield f"{owner}.{name}", method, make


# Python's own machinery, and functions that wait, print or change the whole process.
SPARED = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__",
          "__dir__", "__sizeof__", "__reduce__", "__reduce_ex__", "__setattr__", "__delattr__",
          "__getstate__", "__setstate__", "__init__", "mro"}
SPARED_FUNCTIONS = {"set_num_threads", "run_functions_eagerly", "enable_check_numerics",
                    "functions_run_eagerly", "disable_check_numerics", "trim_memory",
                    "Operation"}        # only graphs create these


def targets():
    """Yield (name, callable, callable that creates its first argument or None)."""
    seen = set()
    for owner, module in modules():
        for name in sorted(getattr(module, "__all__", None) or public(module)):
            value = getattr(module, name)
            if not callable(value) or id(value) in seen or name in SPARED_FUNCTIONS:
                continue
            seen.add(id(value))
            yield f"{owner}.{name}", value, None
    yield from methods("Tensor", tensor, df.Tensor)
    yield from methods("Variable", lambda: df.Variable([1.0, 2.0]), df.Variable)
    yield "part of a Variable.assign", df.Tensor.assign, lambda: df.Variable([1.0, 2.0])[1:]
    yield "vmapped", df.vmap(lambda x: x * 2), None
    yield "vmapped gradient", df.vmap(df.grad(lambda x: df.reduce_sum(x * x))), None
    yield from methods("TensorSpec", lambda: df.TensorSpec([None, 2]), df.TensorSpec)
    yield from methods("DType", lambda: df.float32, df.DType)
    yield from methods("GradientTape", df.GradientTape, df.GradientTape)
    yield from methods("Generator", lambda: df.random.Generator(1), df.random.Generator)
    yield from methods("Dataset", lambda: df.data.Dataset.range(5), df.data.Dataset)
    yield from methods("Function", lambda: df.function(lambda x: x * 2), df.Function)


def parameters(target, bound):
    """Return names and defaults of the positional parameters; a few if there is no signature."""
    try:
        signature = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return [("x", None), ("y", None)]
    found = [p for p in signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD,
                                               p.KEYWORD_ONLY)
             and p.name != "runs"]             # would repeat the call
    many = [p for p in signature if p.kind is p.VAR_POSITIONAL]
    if bound:
        found = found[1:]
    named = [(p.name, p) for p in found]
    return named + [(f"*{p.name}", p) for p in many]


def call(target, make, chosen):
    """Call with invalid values by parameter name; the others are valid ones or defaults."""
    args, options = [], {}
    if make is not None:
        args.append(make())
    for name, p in parameters(target, make is not None):
        if name in chosen:
            value = VALUES[chosen[name]]()
        elif p is not None and (p.default is not p.empty or name.startswith("*")):
            continue
        else:
            value = USUAL.get(name, tensor)()
        if p is None or name.startswith("*") or p.kind is p.POSITIONAL_ONLY:
            args.append(value)
        else:
            options[name] = value
    result = target(*args, **options)
    if inspect.iscoroutine(result):
        result.close()
    if isinstance(result, df.data.Dataset):         # lazy: nothing has run yet
        list(itertools.islice(result, 3))
        result.cardinality(), result.element_spec
    return result


def problem(name, exception, chosen):
    """Return what is wrong with the exception of a call, or None."""
    if name.startswith(("df.debugging.assert", "df.testing.assert", "df.testing.check")) \
            and isinstance(exception, AssertionError):
        return None
    if isinstance(exception, AttributeError) and ".__" in name:
        return None
    if "Inconsistent object during array creation" in str(exception):    # NumPy's error for lists
        return None
    if isinstance(exception, RecursionError) and NO_LIMIT & {*chosen.values()}:
        return None
    if isinstance(exception, BufferError) and "dlpack" in name:     # the protocol requires it
        return None
    if isinstance(exception, OSError | UnicodeError) and \
            any(part in key for key in chosen for part in OF_NAMES):
        return None
    if type(exception) in [OF_VALUES.get(value) for value in chosen.values()]:
        return None
    if not isinstance(exception, ALLOWED) and type(exception) not in EXACTLY:
        return f"{type(exception).__name__}: {exception}"
    if isinstance(exception, DualflowError) and not str(exception):
        return "an exception without a message"
    return None


def describe(name, chosen):
    return f"{name}({', '.join(f'{k}={v}' for k, v in chosen.items())})"


def attempt(name, target, make, chosen):
    os.write(LOG, (describe(name, chosen) + "\n").encode())
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True, file=sys.__stderr__)
    signal.alarm(SECONDS)
    try:
        call(target, make, chosen)
    except BaseException as exception:
        return problem(name, exception, chosen)
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
    return None


def check_usable():
    x = df.constant([1.0, 2.0])
    assert (x + x).numpy().tolist() == [2, 4]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000, help="calls drawn at random")
    parser.add_argument("--all", action="store_true", help="every value for every parameter")
    parser.add_argument("--only", default="", help="names that contain this")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found = [(n, t, m) for n, t, m in targets() if options.only in n]
    singles = [(n, t, m, {p: v}) for n, t, m in found
               for p, _ in parameters(t, m is not None) for v in VALUES]
    todo = singles if options.all else [rng.choice(singles) for _ in range(options.count)]
    if not options.all:                                   # two invalid values at once
        for name, target, make in rng.choices(found, k=options.count // 3):
            names = [p for p, _ in parameters(target, make is not None)]
            chosen = {p: rng.choice(list(VALUES)) for p in rng.sample(names, min(2, len(names)))}
            todo.append((name, target, make, chosen))
    failures = 0
    nowhere = open(os.devnull, "w")                       # noqa: SIM115 - until the process ends
    for name, target, make, chosen in todo:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            wrong = attempt(name, target, make, chosen)
        if wrong is not None:
            failures += 1
            print(f"{describe(name, chosen)}: {wrong[:300]}", flush=True)
    check_usable()
    print(f"{len(todo)} calls, {failures} failures, seed {options.seed}")
    return 1 if failures else 0


LOG = os.open(os.environ.get("HOSTILE_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
if __name__ == "__main__":
    faulthandler.enable()
    signal.signal(signal.SIGALRM, give_up)
    sys.exit(main())
