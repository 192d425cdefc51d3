"""Ops whose kernel is a Python function, called in eager mode or in each run of a graph."""

from __future__ import annotations

import functools

from dualflow._core import (
    Dim,
    HostFunction,
    Operand,
    Tensor,
    TensorBase,
    TensorSpec,
    TraceContext,
    apply,
    as_tensor,
    check_callback_results,
    checks_numerics,
    current_graph,
    known,
    record_function,
)
from dualflow._util.arguments import shown
from dualflow._util.late_binding import late
from dualflow.dtypes import DType, as_dtype, int64
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.gradient_registry import no_gradient
from dualflow.ops.array.creation import converted
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

TEXT = "string_tensor"      # registered for late binding

__all__ = ["RegisteredOp", "from_python", "name_of", "numpy_function", "register_op"]

no_gradient("host_compute", why="a Python function has none; register_op takes a gradient")
no_gradient("host_start", why="a Python function has none")
no_gradient("host_wait", why="a Python function has none")

Types: TypeAlias = "list[tuple[DType, Any]]"        # dtypes and shapes


def type_of(name: str, said: Any) -> tuple[DType, tuple[Any, ...]]:
    """Return dtype and shape of a tensor, a TensorSpec, or a pair (shape, dtype)."""
    if isinstance(said, TensorSpec | Tensor):
        return said.dtype, tuple(said.shape)
    if isinstance(said, tuple) and len(said) == 2:
        shape, dtype = said
        return as_dtype(dtype), tuple(shape)
    raise DTypeError(f"{name}: infer returned {shown(said)}, expected a TensorSpec, a pair (shape, "
                     "dtype), or a list of them")


def call_python(name: str, function: Callable[..., Any], inputs: list[Tensor], promised: Types,
                rule: Callable[..., Any] | None, node_name: str | None = None) -> list[Tensor]:
    """Return the results of a Python function of tensors, called now or in each run of the graph.

    Parameters
    ----------
    name : str
        The name in messages.
    function : callable
        Takes Tensors and returns a sequence of results. Its ops are not recorded.
    inputs : list of Tensor
    promised : list of (dtype, shape)
        Dtype and shape of each result; a size of None may differ between calls. A shape of None is
        unknown: in a graph, it has the rank of the first input until `declare_shape` is called.
    rule : callable (g, ys, *inputs), optional
        Takes the gradients of the results and the results as tuples, then the inputs. None if the
        function has no gradient.
    node_name : str, optional
    """
    graph = current_graph()
    if graph is None and not checks_numerics():
        try:
            with TraceContext(None):
                made = check_callback_results(name, function(*inputs), promised)
        except Exception as error:
            error.add_note(f"in {name}")
            raise
    else:
        n = len(inputs)

        def call(*xs: Tensor) -> Sequence[Any]:
            return function(*xs[:n])

        host = HostFunction(call, name)
        unknown = (None,) * (inputs[0].ndim if inputs else 0)
        vars(call)["undeclared"] = [k for k, (_, shape) in enumerate(promised) if shape is None]
        promised = [(dtype, unknown if shape is None else shape) for dtype, shape in promised]
        if graph is not None:
            graph.host_functions.append(host)
        node_name = node_name or name
        made = record(host, inputs or [0], promised,
                      node_name if rule is None else f"{node_name}/python")
    return made if rule is None or not inputs else with_rule(node_name or name, made, inputs, rule)


def with_rule(name: str, made: list[Tensor], inputs: list[Tensor],
              rule: Callable[..., Any]) -> list[Tensor]:
    """Record a gradient for results computed elsewhere from inputs: see `call_python`."""
    results: list[Tensor] = []

    def through(g: tuple[Any, ...], _: Any, *specs: Any) -> Any:
        return rule(g, tuple(results), *inputs)

    results += record_function(name, through, inputs, made)
    return results


def record(host: HostFunction, inputs: Sequence[TensorLike], promised: Types,
           name: str) -> list[Tensor]:
    """Record a call in the current graph."""
    if not promised:
        apply("host_call", *inputs, id=host.id, name=name)
        return []
    return list(apply("host_compute", *inputs, id=host.id, types=type_words(promised), name=name))


def type_words(promised: Types) -> tuple[int, ...]:
    """Encode dtypes and shapes of results as an attribute of the ops that call the host."""
    return tuple([word for dtype, shape in promised for word in (
        dtype.index, len(shape), *[-1 if is_open(d) else d for d in shape])])


def is_open(size: Any) -> bool:
    """Return True if the function determines a size: the size is None, or depends on data and is
    unknown before the run."""
    return size is None or (isinstance(size, Dim) and size.data_dependent)


class RegisteredOp:
    """An op created by `register_op`. Calling it applies it.

    Attributes
    ----------
    name : str
    """

    def __init__(self, name: str, forward: Callable[..., Any], gradient: Callable[..., Any] | None,
                 infer: Callable[..., Any] | None) -> None:
        self.name = name
        self._forward = forward
        self._gradient = gradient
        self._infer = infer
        self.__name__ = name
        self.__doc__ = forward.__doc__

    def __repr__(self) -> str:
        return f"<dualflow op {self.name}, in Python>"

    @filtered
    def __call__(self, *inputs: TensorLike, name: str | None = None, **attrs: Any) -> Any:
        xs = [as_tensor(x, None, self.name) for x in inputs]
        attrs = {key: known(value) for key, value in attrs.items()}
        promised, several = self._promise(xs, attrs)
        forward = functools.partial(self._compute, several, attrs)
        rule = functools.partial(self._back, several, attrs)
        made = call_python(self.name, forward, xs, promised, rule, name)
        return tuple(made) if several else made[0]

    def _promise(self, inputs: list[Tensor], attrs: dict[str, Any]) -> tuple[Types, bool]:
        """Return dtypes and shapes of the results, and whether they are a list."""
        if self._infer is None and not inputs:
            raise InvalidArgumentError(f"{self.name}: an op without inputs needs infer=, which "
                                       "returns the dtypes and shapes of its results")
        said = inputs[0] if self._infer is None else self._infer(*inputs, **attrs)
        if not isinstance(said, list):
            return [type_of(self.name, said)], False
        return [type_of(self.name, one) for one in said], True

    def _compute(self, several: bool, attrs: dict[str, Any], *inputs: Tensor) -> Sequence[Any]:
        made = self._forward(*inputs, **attrs)
        return sequence(self.name, made) if several else (made,)

    def _back(self, several: bool, attrs: dict[str, Any], g: tuple[Any, ...],
              ys: tuple[Tensor, ...], *inputs: Tensor) -> list[Any]:
        if self._gradient is None:
            raise UnimplementedError(f"{self.name}: it was registered without gradient=")
        given = (g, ys) if several else (g[0], ys[0])
        made = self._gradient(*given, *inputs, **attrs)
        made = list(made) if isinstance(made, list | tuple) else [made]
        if len(made) != len(inputs):
            raise InvalidArgumentError(f"{self.name}: its gradient returned {len(made)} results, "
                                       f"expected one for each of {len(inputs)} inputs")
        return [x if x is None or callable(x) else as_tensor(x, None, self.name) for x in made]


def sequence(name: str, made: Any) -> Sequence[Any]:
    """Check that a function with several results returned a list or tuple, and return it."""
    if not isinstance(made, list | tuple):
        raise DTypeError(f"{name}: the function returned {shown(made)}, expected a list or tuple "
                         "of its results")
    return made


def register_op(name: str, forward: Callable[..., Any] | None = None,
                gradient: Callable[..., Any] | None = None,
                infer: Callable[..., Any] | None = None) -> Any:
    """Create an op from a Python function, for eager mode, traced functions and graphs.

    Parameters
    ----------
    name : str
        The name of its nodes and in messages.
    forward : callable
        Called as ``forward(*inputs, **attrs)`` with a Tensor for each input (``x.numpy()`` is an
        array that must not be written). Returns a tensor, an array or a number; if `infer` returns
        a list, a list or tuple of them. Its ops are not recorded on tapes. Without `forward`,
        `register_op` is a decorator.
    gradient : callable, optional
        Called as ``gradient(g, y, *inputs, **attrs)`` with the gradient of the result, the result,
        and the inputs; if `infer` returns a list, the first two are tuples. Returns one result for
        each input: a tensor, None if there is no gradient, or a function that computes it. It is
        composed of public ops, including this one, and is traced with the op, so that gradients of
        any order exist.
    infer : callable, optional
        Called as ``infer(*inputs, **attrs)``. Returns the dtype and shape of the result as a
        TensorSpec, a tensor, or a pair (shape, dtype), whose sizes may be computed from the sizes
        of the inputs and may be None if they differ between calls; or a list of them. By default
        the result is like the first input.

    Returns
    -------
    callable
        Called as ``op(*inputs, name=None, **attrs)`` to apply the op. Keyword arguments are Python
        values for the three functions.

    Raises
    ------
    DTypeError, ShapeError, InvalidArgumentError
        When applied or run, if the results of `forward` do not match `infer`.

    Notes
    -----
    In a graph each application is a node that is never removed, merged or constant-folded, and is
    not reordered with other side effects: `forward` may read files and print. Its exceptions are
    raised by the run unchanged, with a note that names the op and the line that applied it. The GIL
    is held only during the call.

    Examples
    --------
    >>> import dualflow as df
    >>> import numpy as np
    >>> square_plus = df.register_op("square_plus", lambda x, b: x.numpy() ** 2 + b,
    ...                              gradient=lambda g, y, x, b: 2. * x * g)
    >>> @df.function
    ... def f(x):
    ...     return df.reduce_sum(square_plus(x, b=1.))
    >>> f(df.constant([1., 2.])).item()
    7.0
    >>> df.grad(f)(df.constant([1., 2.])).tolist()
    [2.0, 4.0]

    A result of another shape, as a decorator:

    >>> @df.register_op("row_norms", infer=lambda x: (x.shape[:1], x.dtype),
    ...                 gradient=lambda g, y, x: x * (g / y)[:, None])
    ... def row_norms(x):
    ...     return np.linalg.norm(x.numpy(), axis=1)
    >>> row_norms([[3., 4.], [6., 8.]]).tolist()
    [5.0, 10.0]
    """
    if not isinstance(name, str) or not name:
        raise DTypeError(f"register_op: name is {shown(name)}, expected a str")
    if forward is None:
        return lambda function: RegisteredOp(name, function, gradient, infer)
    return RegisteredOp(name, forward, gradient, infer)


def results_of(said: Any, inputs: Sequence[Tensor]) -> tuple[Types, bool]:
    """Return the dtypes and shapes in `Tout`, and whether it is a list."""
    several = isinstance(said, list | tuple)
    types: list[Any] = []
    for one in said if several else [said]:
        if isinstance(one, TensorSpec | Tensor):
            types.append((one.dtype, tuple(one.shape)))
            continue
        dtype = late(TEXT).string if getattr(one, "name", one) == "string" else as_dtype(one)
        types.append((dtype, None))
    return types, several


@filtered
def numpy_function(func: Callable[..., Any] | None = None,
                   inp: Sequence[TensorLike] | None = None, Tout: Any = None,
                   stateful: bool = True, name: str | None = None) -> Any:
    """Call ``func(*inp)``, a function of NumPy arrays, now or in each run of a graph.

    Parameters
    ----------
    func : callable
        Takes a read-only ndarray for each input and returns an array or a number, or a list as long
        as `Tout`. Without `func`, this is a decorator for functions of tensors.
    inp : sequence of Tensor
        Text is passed as bytes, or an object array of bytes.
    Tout : dtype, TensorSpec or Tensor like the result, or list of them
        The results of `func`, `df.string` for text. A dtype alone stands for any shape; in a graph
        the result has the rank of the first input (0, if there are no inputs) unless `set_shape`
        declares another shape before it is used. A list, even of length 1, means a list of results.
    stateful : bool
        Ignored; accepted for compatibility with TensorFlow. Calls are never merged or removed.
    name : str, optional

    Returns
    -------
    Tensor, or list of Tensor if `Tout` is a list

    Raises
    ------
    DTypeError, ShapeError, InvalidArgumentError
        If the results of `func` do not match `Tout`.

    Notes
    -----
    The result has no gradient; see `register_op`, and `py_function` for functions composed of
    dualflow ops.

    Examples
    --------
    >>> import dualflow as df
    >>> import numpy as np
    >>> @df.function
    ... def f(x):
    ...     return df.numpy_function(np.sort, [x], df.float32) * 2.
    >>> f(df.constant([3., 1., 2.])).tolist()
    [2.0, 4.0, 6.0]
    """
    if func is None:
        return lambda function: functools.wraps(function)(
            lambda *args: numpy_function(function, args, Tout, stateful, name))
    called = name or name_of(func, "numpy_function")
    return from_python(func, () if inp is None else inp, Tout, called, lambda x: x.numpy(), None)


def name_of(func: Callable[..., Any], otherwise: str) -> str:
    """Return the name of a function if it is an identifier, else `otherwise`."""
    name = getattr(func, "__name__", "")
    return name if name.isidentifier() else otherwise


def from_python(func: Callable[..., Any], inp: Sequence[TensorLike], said: Any, name: str,
                given: Callable[[Tensor], Any], rule: Callable[..., Any] | None) -> Any:
    """Implement `numpy_function` and its relatives: `given` converts an input to an argument."""
    if isinstance(inp, TensorBase):
        raise DTypeError(f"{name}: inp is {shown(inp)}, expected a list of tensors")
    inputs = [converted(x, None, name) for x in inp]
    if said is None:
        raise DTypeError(f"{name}: Tout is None, expected the dtype, or a TensorSpec, of each "
                         "result of the function")
    types, several = results_of(said, inputs)
    n = len(types)              # not `types`, whose sizes may belong to a trace that ends earlier
    texts_in = [isinstance(x, Operand) for x in inputs]
    texts_out = [dtype.name == "string" for dtype, _ in types]
    has_texts = any(texts_in) or any(texts_out)
    if has_texts:               # graphs carry handles of text
        inputs = [late(TEXT).text(x, name)._handles if is_text else x
                  for x, is_text in zip(inputs, texts_in, strict=True)]
        types = [(int64 if is_text else dtype, shape)
                 for (dtype, shape), is_text in zip(types, texts_out, strict=True)]

    def from_handles(values: Sequence[Any], texts: list[bool]) -> list[Any]:
        return [late(TEXT).StringTensor._made(x) if is_text else x
                for x, is_text in zip(values, texts, strict=True)]

    def to_handles(values: Sequence[Any]) -> Sequence[Any]:
        return [late(TEXT).text(x, name)._handles if is_text else x
                for x, is_text in zip(values, texts_out, strict=True)
                ] if has_texts and len(values) == n else values

    def compute(*xs: Tensor) -> Sequence[Any]:
        made = func(*map(given, from_handles(xs, texts_in)))
        if n == 0:
            return ()
        if several and n == 1 and not isinstance(made, list | tuple):
            made = [made]
        return to_handles(sequence(name, made) if several else (made,))

    made = call_python(name, compute, inputs, types, None if has_texts else rule)
    if has_texts:
        made = from_handles(made, texts_out)
    return made if several else made[0]
