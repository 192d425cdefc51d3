"""Ops whose kernel is a Python function: called at once, or each time a graph runs."""

from __future__ import annotations

import functools

from dualflow._core import (
    Dim,
    HostFunction,
    Recording,
    Tensor,
    TensorBase,
    TensorSpec,
    apply,
    as_promised,
    as_tensor,
    checks_numerics,
    current_graph,
    known,
    record_function,
)
from dualflow.arguments import shown
from dualflow.dtypes import DType, as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError, UnimplementedError
from dualflow.gradient_registry import no_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = ["RegisteredOp", "from_python", "name_of", "numpy_function", "register_op"]

no_gradient("host_compute", why="only the Python function knows; register_op takes a gradient")
no_gradient("host_start", why="only the Python function knows")
no_gradient("host_wait", why="only the Python function knows")

Types: TypeAlias = "list[tuple[DType, tuple[Any, ...]]]"


def type_of(name: str, said: Any) -> tuple[DType, tuple[Any, ...]]:
    """Dtype and shape from a tensor, a TensorSpec, or a pair (shape, dtype)."""
    if isinstance(said, TensorSpec | Tensor):
        return said.dtype, tuple(said.shape)
    if isinstance(said, tuple) and len(said) == 2:
        shape, dtype = said
        return as_dtype(dtype), tuple(shape)
    raise DTypeError(f"{name}: infer gave {shown(said)}, want a TensorSpec, a pair (shape, dtype), "
                     "or a list of them")


def call_python(name: str, function: Callable[..., Any], inputs: list[Tensor], promised: Types,
                rule: Callable[..., Any] | None, node_name: str | None = None) -> list[Tensor]:
    """The results of a Python function of tensors, now or each time the graph runs that records.

    Parameters
    ----------
    name : str
        What messages call it.
    function : callable
        Gets Tensors, gives a sequence of results. Part of no graph and no tape.
    inputs : list of Tensor
    promised : list of (dtype, shape)
        Of each result; None stands for a size that each call decides.
    rule : callable (g, ys, *inputs), optional
        Gets tuples of what flows into the results and of these; None: nothing flows.
    node_name : str, optional
    """
    graph = current_graph()
    if graph is None and not checks_numerics():
        try:
            with Recording(None):
                made = as_promised(name, function(*inputs), promised)
        except Exception as error:
            error.add_note(f"in {name}")
            raise
    else:
        host = HostFunction(function if inputs else lambda _: function(), name)
        if graph is not None:
            graph.host_functions.append(host)
        node_name = node_name or name
        made = record(host, inputs or [0], promised,
                      node_name if rule is None else f"{node_name}/python")
    return made if rule is None or not inputs else with_rule(node_name or name, made, inputs, rule)


def with_rule(name: str, made: list[Tensor], inputs: list[Tensor],
              rule: Callable[..., Any]) -> list[Tensor]:
    """Results that somebody else made of inputs, with a gradient: see `call_python`."""
    results: list[Tensor] = []

    def through(g: tuple[Any, ...], _: Any, *specs: Any) -> Any:
        return rule(g, tuple(results), *inputs)

    results += record_function(name, through, inputs, made)
    return results


def record(host: HostFunction, inputs: Sequence[TensorLike], promised: Types,
           name: str) -> list[Tensor]:
    """An application in the graph that records."""
    if not promised:
        apply("host_call", *inputs, id=host.id, name=name)
        return []
    return list(apply("host_compute", *inputs, id=host.id, types=type_words(promised), name=name))


def type_words(promised: Types) -> tuple[int, ...]:
    """Dtypes and shapes of results as an attribute of the ops that call the host."""
    return tuple([word for dtype, shape in promised for word in (
        dtype.index, len(shape), *[-1 if is_open(d) else d for d in shape])])


def is_open(size: Any) -> bool:
    """Whether the function decides about a size: a run does not compute beforehand what depends on
    data."""
    return size is None or (isinstance(size, Dim) and size.from_data)


class RegisteredOp:
    """An op made by `register_op`. Calling it applies it.

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

    def __call__(self, *inputs: TensorLike, name: str | None = None, **attrs: Any) -> Any:
        xs = [as_tensor(x, None, self.name) for x in inputs]
        attrs = {key: known(value) for key, value in attrs.items()}
        promised, several = self._promise(xs, attrs)
        forward = functools.partial(self._compute, several, attrs)
        rule = functools.partial(self._back, several, attrs)
        made = call_python(self.name, forward, xs, promised, rule, name)
        return tuple(made) if several else made[0]

    def _promise(self, inputs: list[Tensor], attrs: dict[str, Any]) -> tuple[Types, bool]:
        """Dtypes and shapes of the results, and whether there may be several."""
        if self._infer is None and not inputs:
            raise InvalidArgumentError(f"{self.name}: an op without inputs needs infer=, which "
                                       "says what it gives")
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
            raise UnimplementedError(f"{self.name}: register_op was given no gradient= for it")
        given = (g, ys) if several else (g[0], ys[0])
        made = self._gradient(*given, *inputs, **attrs)
        made = list(made) if isinstance(made, list | tuple) else [made]
        if len(made) != len(inputs):
            raise InvalidArgumentError(f"{self.name}: its gradient gave {len(made)} results, want "
                                       f"one for each of {len(inputs)} inputs")
        return [x if x is None or callable(x) else as_tensor(x, None, self.name) for x in made]


def sequence(name: str, made: Any) -> Sequence[Any]:
    """The results of a function that gives several."""
    if not isinstance(made, list | tuple):
        raise DTypeError(f"{name}: the function gave {shown(made)}, want a list or tuple with each "
                         "of its results")
    return made


def register_op(name: str, forward: Callable[..., Any] | None = None,
                gradient: Callable[..., Any] | None = None,
                infer: Callable[..., Any] | None = None) -> Any:
    """Makes an op of a Python function: for eager mode, traced functions and graphs.

    Parameters
    ----------
    name : str
        The name of its nodes, and in messages.
    forward : callable
        Called as ``forward(*inputs, **attrs)``. Gets a Tensor for each input (``x.numpy()`` is an
        array that must not be written) and gives a tensor, an array or a number; if `infer` gives
        a list, a list or tuple of them. What it does is on no tape. Without it, `register_op` is a
        decorator.
    gradient : callable, optional
        Called as ``gradient(g, y, *inputs, **attrs)``. Gets what flows into the result, the
        result, and the inputs; if `infer` gives a list, the first two are tuples. Gives one result
        for each input: a tensor, None if nothing flows, or a function that computes it. It is made
        of public ops, `forward`'s own op among them, and is traced where the op is; so gradients
        of any order follow.
    infer : callable, optional
        Called as ``infer(*inputs, **attrs)``. Says what `forward` gives by the dtypes and shapes of
        the inputs, as a TensorSpec, a tensor of that kind, or a pair (shape, dtype), in which sizes
        may be computed from those of the inputs, and None is one that each call decides; or a list
        of them. By default the result is like the first input.

    Returns
    -------
    callable
        Called as ``op(*inputs, name=None, **attrs)``, applies the op. Keyword arguments are Python
        values for the three functions.

    Raises
    ------
    DTypeError, ShapeError, InvalidArgumentError
        When applied, or run, if `forward` does not give what was promised.

    Notes
    -----
    In a graph each application is a node which is never dropped, merged or computed ahead, and
    keeps its place among other effects: `forward` may read files and print. What it raises comes
    out of the run as it is, with a note that says which op it is and where it was applied. The GIL
    is held during the call only.

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
        raise DTypeError(f"register_op: name is {shown(name)}, want a str")
    if forward is None:
        return lambda function: RegisteredOp(name, function, gradient, infer)
    return RegisteredOp(name, forward, gradient, infer)


def results_of(said: Any, inputs: Sequence[Tensor]) -> tuple[Types, bool]:
    """What `Tout` promises, and whether it names several results."""
    several = isinstance(said, list | tuple)
    types = []
    for one in said if several else [said]:
        if isinstance(one, TensorSpec | Tensor):
            types.append((one.dtype, tuple(one.shape)))
            continue
        rank = inputs[0].ndim if inputs else 0
        types.append((as_dtype(one), (None,) * rank))
    return types, several


def numpy_function(func: Callable[..., Any] | None = None,
                   inp: Sequence[TensorLike] | None = None, Tout: Any = None,
                   stateful: bool = True, name: str | None = None) -> Any:
    """``func(*inp)``, a function of NumPy arrays, now or each time a graph runs.

    Parameters
    ----------
    func : callable
        Gets an ndarray for each input, which must not be written, and gives an array or a number,
        or as many as `Tout` is long. Without it, this is a decorator for functions of tensors.
    inp : sequence of Tensor
    Tout : dtype, TensorSpec or Tensor like the result, or list of them
        What `func` gives. A dtype alone means: as many dimensions as the first input, of any size
        (a scalar, if there are no inputs). A list, also of one, means a list of results.
    stateful : bool
        Taken for TensorFlow's sake: every call counts, none is merged with another or dropped.
    name : str, optional

    Returns
    -------
    Tensor, or list of Tensor if `Tout` is a list

    Raises
    ------
    DTypeError, ShapeError, InvalidArgumentError
        If `func` does not give what `Tout` promises.

    Notes
    -----
    Nothing flows back through it; see `register_op`, and `py_function` for a function of dualflow's
    own ops.

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
    """The name of a function that has one."""
    name = getattr(func, "__name__", "")
    return name if name.isidentifier() else otherwise


def from_python(func: Callable[..., Any], inp: Sequence[TensorLike], said: Any, name: str,
                given: Callable[[Tensor], Any], rule: Callable[..., Any] | None) -> Any:
    """`numpy_function` and its relatives: `given` makes an argument of an input."""
    if isinstance(inp, TensorBase):
        raise DTypeError(f"{name}: inp is {shown(inp)}, want a list of tensors")
    inputs = [as_tensor(x, None, name) for x in inp]
    if said is None:
        raise DTypeError(f"{name}: Tout is None, want the dtype, or a TensorSpec, of what the "
                         "function gives, or a list of them")
    types, several = results_of(said, inputs)
    n = len(types)              # sizes in it may be those of a trace, which this outlives

    def compute(*xs: Tensor) -> Sequence[Any]:
        made = func(*map(given, xs))
        if n == 0:
            return ()
        if several and n == 1 and not isinstance(made, list | tuple):
            made = [made]
        return sequence(name, made) if several else (made,)

    made = call_python(name, compute, inputs, types, rule)
    return made if several else made[0]
