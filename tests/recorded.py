"""Calls of public functions, recorded while the examples of their docstrings run.

Tests of a property of every public function replay the calls with changed arguments; a function
that is added later is covered by its example."""

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import types
import warnings

import dualflow as df

# Interfaces with examples that need other packages, and internal modules.
OTHERS = ("aot", "array_api", "autodiff", "autograph", "compat", "distribute", "graph", "keras",
          "onnx", "ops", "tensorflow")
CALLS = 4       # of a function


def is_other(module):
    return module.split(".")[1].startswith("_") or module.split(".")[1] in OTHERS


def public_modules(name="df", module=df, seen=None):
    """Yield names and modules, `df` and the public modules inside."""
    seen = {df} if seen is None else seen
    yield name, module
    for part in public_names(module):
        inner = getattr(module, part, None)
        if isinstance(inner, types.ModuleType) and inner not in seen \
                and inner.__name__.startswith("dualflow.") and not is_other(inner.__name__):
            seen.add(inner)
            yield from public_modules(f"{name}.{part}", inner, seen)


def public_names(module):
    return getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]


@functools.cache
def public_functions():
    """Return the functions by name, and the places where they are found: (module, name)."""
    functions, places = {}, {}
    for owner, module in public_modules():
        for name in public_names(module):
            value = getattr(module, name, None)
            kind = type(value).__name__
            if (inspect.isfunction(value) or kind in ("cython_function_or_method",
                                                      "builtin_function_or_method")) \
                    and (value.__module__ or "").startswith("dualflow"):
                if value not in places:
                    functions[f"{owner}.{name}"] = value
                places.setdefault(value, []).append((module, name))
    return functions, places


def recorder(function, calls):
    @functools.wraps(function)
    def record(*args, **options):
        if len(calls) < CALLS:
            calls.append((args, options))
        return function(*args, **options)

    return record


@functools.cache
def recorded():
    """Return the calls of each public function in examples, as (arguments, keyword arguments)."""
    functions, places = public_functions()
    calls = {name: [] for name in functions}
    names = {function: name for name, function in functions.items()}
    modules = [m.name for m in pkgutil.walk_packages(df.__path__, "dualflow.")
               if m.name.startswith("dualflow.ops.") or not is_other(m.name)]
    finder, quiet = doctest.DocTestFinder(), io.StringIO()
    try:
        for function, found in places.items():
            wrapped = recorder(function, calls[names[function]])
            for module, name in found:
                setattr(module, name, wrapped)
        with contextlib.redirect_stdout(quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in map(importlib.import_module, modules):
                for test in finder.find(module):
                    if test.examples:
                        doctest.DocTestRunner(verbose=False).run(test, out=quiet.write)
    finally:
        for function, found in places.items():
            for module, name in found:
                setattr(module, name, function)
    return calls
