"""Conversion, control flow, scatter and slice functions, and the backend's feature flags."""

import builtins
import contextlib
from functools import partial
from typing import Any

from keras.src import tree
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import dualflow as df
from dualflow._core import SIZE_HINT, current_graph
from dualflow.graph.calls.conversion import Conversion
from dualflow.graph.trace.trace import Trace
from dualflow.keras.src.ops.convert import (
    cast as cast,
    convert_to_numpy as convert_to_numpy,
    convert_to_tensor as convert_to_tensor,
    is_tensor as is_tensor,
    to_dtype,
)
from dualflow.keras.src.remat import remat as remat
from dualflow.keras.src.scope import name_scope as name_scope
from dualflow.keras.src.variable import Variable as Variable

SUPPORTS_SPARSE_TENSORS = True
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = False
IS_THREAD_SAFE = True


def shape(x: Any) -> Any:
    return tuple(x.shape)


def random_seed_dtype() -> Any:
    return "int64"


@contextlib.contextmanager
def device_scope(device_name: Any) -> Any:
    if not str(device_name).lower().startswith("cpu"):
        raise ValueError(f"dualflow computes on the CPU; got the device {device_name!r}")
    yield


def compute_output_spec(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Trace `fn` and return its results as KerasTensors; nothing is computed. Control flow is
    converted in functions of dualflow that `fn` calls."""
    conversion = Conversion(fn, False)
    found: list[Any] = []

    def record(trace: Trace) -> None:
        def symbol(x: Any) -> Any:
            if not isinstance(x, KerasTensor):
                return x
            hints = [SIZE_HINT if d is None else d for d in x.shape]
            dtype = df.int64 if x.dtype == "string" else to_dtype(x.dtype)
            made = trace.parameter(len(trace.inputs), x.name, dtype, x.shape, hints)
            if x.sparse:
                return df.sparse.from_dense(made)
            return df.strings.StringTensor._made(made) if x.dtype == "string" else made

        with trace.recording():
            given, named = tree.map_structure(symbol, (args, kwargs))
            found[:] = [tree.map_structure(_spec_of, conversion.through(
                lambda function: function(*given, **named)))]

    with StatelessScope(), SymbolicScope():
        name = getattr(fn, "__name__", "call")
        while not conversion.run(trace := Trace(name, after=current_graph()),
                                 partial(record, trace)):
            pass
    return found[0]


def _spec_of(x: Any) -> Any:
    """Return a result of a trace as a KerasTensor."""
    if isinstance(x, df.IndexedSlices):
        x = df.convert_to_tensor(x)
    if isinstance(x, df.strings.StringTensor):
        return KerasTensor(x._handles.known_shape, "string")
    if isinstance(x, df.SparseTensor):
        sizes = [n if type(n) is int else None for n in x.sizes]
        return KerasTensor(sizes, x.dtype.name, sparse=True)
    if not isinstance(x, df.TensorBase):
        return x
    return KerasTensor(getattr(x, "known_shape", x.shape), x.dtype.name)


# --- control flow ---

def _tensors(nest: Any) -> Any:
    return tree.map_structure(lambda x: x if x is None else convert_to_tensor(x), nest)


def _begun(step: Any, given: Any, *rest: Any) -> Any:
    """Return the values with which a loop of ``values = step(values, *rest)`` begins: `given` as
    tensors, but Python numbers in the dtype that they have after an iteration. `rest` are
    KerasTensors."""
    start = _tensors(given)
    if not any(type(x) in (int, float) for x in tree.flatten(given)):
        return start
    after = compute_output_spec(step, tree.map_structure(_spec, start), *rest)
    made = [cast(x, y.dtype) if type(n) in (int, float) else x for n, x, y in zip(
        tree.flatten(given), tree.flatten(start), tree.flatten(after), strict=True)]
    return tree.pack_sequence_as(given, made)


def _spec(x: Any, skipped: int = 0) -> Any:
    """Return a tensor without the first dimensions as a KerasTensor."""
    if x is None:
        return None
    return KerasTensor(getattr(x, "known_shape", x.shape)[skipped:], x.dtype.name)


def cond(pred: Any, true_fn: Any, false_fn: Any) -> Any:
    if isinstance(pred, bool):
        return true_fn() if pred else false_fn()
    numbers: list[list[Any]] = [[], []]

    def tensors(fn: Any, k: int) -> Any:
        made = fn()
        numbers[k] = [type(x) if type(x) in (int, float) else None for x in tree.flatten(made)]
        return _tensors(made)

    p = df.reshape(convert_to_tensor(pred, "bool"), ())
    try:
        return df.cond(p, lambda: tensors(true_fn, 0), lambda: tensors(false_fn, 1))
    except df.errors.DTypeError:
        if not any(numbers[0]) and not any(numbers[1]):
            raise
    specs = [tree.flatten(compute_output_spec(lambda fn=fn, k=k: tensors(fn, k)))
             for k, fn in enumerate((true_fn, false_fn))]
    return df.cond(p, lambda: _in_dtypes(true_fn(), specs[1], numbers[0]),
                   lambda: _in_dtypes(false_fn(), specs[0], numbers[1]))


def _in_dtypes(given: Any, others: Any, numbers: Any) -> Any:
    """Return tensors, with the Python numbers among `given` in the dtypes of the results of the
    other branch where these are wider."""
    made = [x if x is None or kind is None or y is None or (kind is float and "int" in y.dtype)
            else cast(x, y.dtype)
            for x, y, kind in zip(tree.flatten(_tensors(given)), others, numbers, strict=True)]
    return tree.pack_sequence_as(given, made)


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    index = df.clip_by_value(convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    return df.switch_case(index, [lambda b=b: _tensors(b(*operands)) for b in branches])


def while_loop(cond: Any, body: Any, loop_vars: Any, maximum_iterations: Any = None) -> Any:
    many = isinstance(loop_vars, list | tuple)

    def again(*values: Any) -> Any:
        made = body(*values)
        return _tensors(tuple(made) if many else (made,))

    start = _begun(lambda values: again(*values), tuple(loop_vars) if many else (loop_vars,))
    found = df.while_loop(lambda *v: convert_to_tensor(cond(*v), "bool"), again, start,
                          maximum_iterations=maximum_iterations)
    return tuple(found) if many else found[0]


def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any) -> Any:
    lower, upper = convert_to_tensor(lower, "int32"), convert_to_tensor(upper, "int32")
    first = _begun(lambda v, i: _tensors(body_fun(i, v)), init_val, _spec(lower))
    _, value = df.while_loop(lambda i, _: i < upper,
                             lambda i, v: (i + 1, _tensors(body_fun(i, v))), (lower, first))
    return value


def scan(f: Any, init: Any, xs: Any = None, length: Any = None, reverse: Any = False,
         unroll: Any = 1) -> Any:
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: {unroll=}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")

    none = [False]

    def step(carry: Any, x: Any) -> Any:
        carry, y = f(carry, x)
        none[0] = y is None
        return _tensors(carry), tree.map_structure(df.zeros_like, _tensors(carry)
                                                   ) if y is None else _tensors(y)

    xs = None if xs is None else _tensors(xs)
    start = _begun(lambda carry, x: step(carry, x)[0], init,
                   None if xs is None else tree.map_structure(lambda x: _spec(x, 1), xs))
    return df.scan(step, start, xs, length=length, reverse=reverse)


def map(f: Any, xs: Any) -> Any:
    return df.map_fn(lambda x: _tensors(f(x)), _tensors(xs))


def vectorized_map(function: Any, elements: Any) -> Any:
    return df.vectorized_map(lambda x: _tensors(function(x)), _tensors(elements))


def associative_scan(f: Any, elems: Any, reverse: Any = False, axis: Any = 0) -> Any:
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    flat = [convert_to_tensor(e) for e in tree.flatten(elems)]
    sizes = [e.shape[axis] for e in flat]
    if any(size != sizes[0] for size in sizes):
        raise ValueError("Array inputs to associative_scan must have the same first dimension. "
                         f"(saw: {[e.shape for e in flat]})")

    def parts(xs: list[Any], start: Any, stop: Any, step: int = 1) -> list[Any]:
        return [_part(x, axis, start, stop, step) for x in xs]

    def combined(a: list[Any], b: list[Any]) -> list[Any]:
        return tree.flatten(_tensors(f(tree.pack_sequence_as(elems, a),
                                       tree.pack_sequence_as(elems, b))))

    def scanned(xs: list[Any]) -> list[Any]:
        n = xs[0].shape[axis]
        if n < 2:
            return xs
        odd = scanned(combined(parts(xs, 0, n - 1, 2), parts(xs, 1, None, 2)))
        even = parts(xs, 0, 1)
        if n > 2:
            before = odd if n % 2 else parts(odd, 0, -1)
            even = [df.concat([first, rest], axis) for first, rest in
                    zip(even, combined(before, parts(xs, 2, None, 2)), strict=True)]
        return [_interleaved(e, o, axis) for e, o in zip(even, odd, strict=True)]

    if reverse:
        flat = [df.reverse(e, [axis]) for e in flat]
    found = scanned(flat)
    if reverse:
        found = [df.reverse(e, [axis]) for e in found]
    return tree.pack_sequence_as(elems, found)


def _part(x: Any, axis: int, start: Any, stop: Any, step: int = 1) -> Any:
    at: list[Any] = [builtins.slice(None)] * x.ndim
    at[axis] = builtins.slice(start, stop, step)
    return x[tuple(at)]


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """Interleave the elements of two tensors along an axis; the first may have one more."""
    axis %= even.ndim
    n = odd.shape[axis]
    pairs = df.stack([_part(even, axis, 0, n), odd], axis + 1)
    sizes = [*odd.shape]
    sizes[axis] = 2 * n
    return df.concat([df.reshape(pairs, sizes), _part(even, axis, n, None)], axis)


# --- slices ---

def scatter(indices: Any, values: Any, shape: Any) -> Any:
    return df.scatter_nd(_indices(indices), convert_to_tensor(values), shape)


def _indices(x: Any) -> df.Tensor:
    x = convert_to_tensor(x)
    return x if x.dtype in (df.int32, df.int64) else df.cast(x, df.int64)


_REDUCTIONS = {None: df.tensor_scatter_nd_update, "add": df.tensor_scatter_nd_add,
               "max": df.tensor_scatter_nd_max, "min": df.tensor_scatter_nd_min}


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: Any = None) -> Any:
    inputs, indices = convert_to_tensor(inputs), _indices(indices)
    updates = convert_to_tensor(updates, inputs.dtype)
    if reduction in _REDUCTIONS:
        return _REDUCTIONS[reduction](inputs, indices, updates)
    if reduction != "mul":
        raise ValueError(f"Unsupported reduction: {reduction}")

    def multiplied(x: df.Tensor, one: Any) -> Any:
        at, factor = df.expand_dims(one[0], 0), df.expand_dims(one[1], 0)
        return df.tensor_scatter_nd_update(x, at, df.gather_nd(x, at) * factor), factor[0]

    return df.scan(multiplied, inputs, (indices, updates))[0]


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    x = convert_to_tensor(inputs)
    starts = _numbers(start_indices)
    if len(starts) != len(shape):
        raise ValueError("Length of `start_indices` must match length of `shape`. "
                         f"Received: start_indices={start_indices}, shape={shape}")
    for axis, (start, size) in enumerate(zip(starts, _numbers(shape), strict=True)):
        if isinstance(start, df.TensorBase):
            x = df.gather(x, df.range(size) + df.cast(start, df.int32), axis=axis)
        else:
            stop = None if isinstance(size, int) and size == -1 else start + size
            x = x[(builtins.slice(None),) * axis + (builtins.slice(start, stop),)]
    return x


def _numbers(xs: Any) -> list[Any]:
    """Return the elements of a list of indices, as ints if they are known."""
    if isinstance(xs, list | tuple):
        return [e for x in xs for e in _numbers(x)]
    if isinstance(xs, df.Tensor | KerasVariable):
        x = convert_to_tensor(xs)
        if hasattr(x, "known_shape"):           # traced: the value is unknown
            return [x] if x.ndim == 0 else list(df.unstack(x))
        xs = x.tolist()
        return xs if isinstance(xs, list) else [xs]
    return [xs] if not hasattr(xs, "tolist") else list(_numbers(xs.tolist()))


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    x = convert_to_tensor(inputs)
    updates = convert_to_tensor(updates, x.dtype)
    starts = _numbers(start_indices)
    n = x.ndim                                  # leading dimensions that need explicit indices
    while n > 1 and isinstance(starts[n - 1], int) and x.shape[n - 1] == updates.shape[n - 1]:
        n -= 1
    along = [df.range(size) + df.cast(convert_to_tensor(start), df.int32)
             for start, size in zip(starts[:n], updates.shape[:n], strict=True)]
    grid = df.stack(df.meshgrid(*along, indexing="ij"), -1)
    return df.tensor_scatter_nd_update(x, grid, updates)


def unstack(x: Any, num: Any = None, axis: Any = 0) -> Any:
    return list(df.unstack(convert_to_tensor(x), num, axis))


# --- gradients ---

def stop_gradient(variable: Any) -> Any:
    return df.stop_gradient(convert_to_tensor(variable))


def custom_gradient(fun: Any) -> Any:
    made = df.custom_gradient(fun)

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree.map_structure(
            lambda x: convert_to_tensor(x) if isinstance(x, KerasVariable) else x, (args, kwargs))
        return made(*args, **kwargs)

    return call
