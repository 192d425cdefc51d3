"""Functions that return derivatives of functions, and user-defined gradients."""

from __future__ import annotations

import functools

from dualflow._core import (
    Tape,
    Tensor,
    as_tensor,
    current_graph,
    record_function,
    tensor_id,
    variable_of,
)
from dualflow.autodiff.tape import GradientTape
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.nest import flatten_tensors, is_numbers, pack_sequence_as, rebuild
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.tracebacks import filtered, hide_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, Literal, TypeAlias, overload

    # The gradient of a tensor is a tensor; of an argument such as a dict it has that structure.
    OfTensor: TypeAlias = Callable[Concatenate[Tensor, ...], Any]

__all__ = ["custom_gradient", "grad", "hessian", "jacobian", "value_and_grad"]

Argnums = int | tuple[int, ...]


if TYPE_CHECKING:
    @overload
    def grad(f: OfTensor, argnums: Literal[0] = 0,
             has_aux: Literal[False] = False) -> Callable[..., Tensor]: ...
    @overload
    def grad(f: OfTensor, argnums: Literal[0] = 0, *,
             has_aux: Literal[True]) -> Callable[..., tuple[Tensor, Any]]: ...
    @overload
    def grad(f: Callable[..., Any], argnums: tuple[int, ...],
             has_aux: Literal[False] = False) -> Callable[..., tuple[Any, ...]]: ...
    @overload
    def grad(f: Callable[..., Any], argnums: Argnums = 0,
             has_aux: bool = False) -> Callable[..., Any]: ...


def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `f`.

    Parameters
    ----------
    f : callable
        Returns a real tensor with one element. Its arguments may be nested lists, tuples and dicts
        of tensors; nested lists that contain only numbers are one tensor.
    argnums : int or tuple of int, default 0
        Which positional arguments to differentiate with respect to.
    has_aux : bool, default False
        Whether `f` returns a pair of the number and an auxiliary value.

    Returns
    -------
    callable
        Takes the arguments of `f`. Returns the gradient in the structure of the argument, or a
        tuple of gradients if `argnums` is a tuple; with `has_aux`, a pair of gradient and auxiliary
        value.

    Notes
    -----
    If the result does not depend on an argument, its gradient is zeros. Gradients of gradients are
    supported to any order. With respect to complex z = x + iy the gradient is df/dx + i df/dy.

    Examples
    --------
    >>> import dualflow as df
    >>> cube = lambda x: x * x * x
    >>> df.grad(cube)(2.).item()
    12.0
    >>> df.grad(df.grad(cube))(2.).item()
    12.0
    """
    both = value_and_grad(f, argnums, has_aux)

    @filtered
    @functools.wraps(f)
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient_of


if TYPE_CHECKING:
    @overload
    def value_and_grad(f: OfTensor, argnums: Literal[0] = 0,
                       has_aux: Literal[False] = False) -> Callable[..., tuple[Tensor, Tensor]]: ...
    @overload
    def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: Literal[False] = False
                       ) -> Callable[..., tuple[Tensor, Any]]: ...
    @overload
    def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
                       ) -> Callable[..., tuple[Any, Any]]: ...


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0,
                   has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes `f` and its gradient.

    Parameters
    ----------
    f, argnums, has_aux
        As in `grad`.

    Returns
    -------
    callable
        Takes the arguments of `f`. Returns a pair: the result of `f`, and the gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> value, slope = df.value_and_grad(lambda x: x * x)(3.)
    >>> value.item(), slope.item()
    (9.0, 6.0)
    """

    @filtered
    @functools.wraps(f)
    def value_and_gradient_of(*args: Any, **kwargs: Any) -> Any:
        tape = GradientTape(watch_accessed_variables=False)
        out, sources = watched_call(tape, "grad", f, args, kwargs, argnums)
        if has_aux and not (isinstance(out, tuple) and len(out) == 2):
            raise InvalidArgumentError("grad: with has_aux the function must return a pair, "
                                       f"got {type(out).__name__}")
        value = as_tensor(out[0] if has_aux else out)
        if value.size != 1:
            raise ShapeError(f"grad: the function returned a tensor of shape {value.shape}, "
                             "expected one number; use jacobian for other shapes")
        if value.dtype.is_complex:
            raise DTypeError(f"grad: the function returned a {value.dtype}, expected a real "
                             "number; df.math.real(y) is the real part")
        gradients = tape.gradient(value, sources, unconnected_gradients="zero")
        gradients = rebuild(gradients, as_tensor, lambda g: isinstance(g, IndexedSlices))
        return (value, out[1]) if has_aux else value, gradients

    return value_and_gradient_of


def jacobian(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f`.

    Returns
    -------
    callable
        Takes the arguments of `f`. For a result of shape (t...) and an argument of shape (s...),
        returns a tensor of shape (t..., s...), in the structure of the argument.

    Notes
    -----
    Rows of complex results are the gradients of their real parts, as in TensorFlow: the complex
    conjugates of the derivatives of a holomorphic function.

    Examples
    --------
    >>> import dualflow as df
    >>> df.autodiff.jacobian(lambda x: x * x)([1., 2.]).numpy().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    @filtered
    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        tape = GradientTape(watch_accessed_variables=False)
        out, sources = watched_call(tape, "jacobian", f, args, kwargs, argnums)
        return tape.jacobian(out, sources, unconnected_gradients="zero")

    return jacobian_of


def hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `f`, which returns a scalar.

    Returns
    -------
    callable
        Takes the arguments of `f`. For a real argument of shape (s...), returns shape (s..., s...).

    Examples
    --------
    >>> import dualflow as df
    >>> df.autodiff.hessian(lambda x: x * x * x)(2.).item()
    12.0
    """
    return real_arguments("hessian", jacobian(grad(f, argnums), argnums), (argnums,))


def real_arguments(caller: str, f: Callable[..., Any], argnums: tuple[int, ...]
                   ) -> Callable[..., Any]:
    """Return `f`; a call raises if an argument at `argnums` is complex, because the derivatives
    along real directions do not determine the derivative."""
    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for i in argnums:
            for leaf in flatten_tensors(args[i:i + 1 or None]):
                if as_tensor(leaf).dtype.is_complex:
                    raise DTypeError(f"{caller}: argument {i} is {as_tensor(leaf).dtype}, expected "
                                     "a real dtype; differentiate by the real and the imaginary "
                                     "part as two arguments")
        return f(*args, **kwargs)

    return checked


def watched_call(tape: GradientTape, caller: str, f: Callable[..., Any], args: tuple[Any, ...],
                 kwargs: dict[str, Any], argnums: Argnums) -> tuple[Any, Any]:
    """Call `f` under the tape; return its result and the tensors of the arguments `argnums`."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    given = list(args)
    for i in places:
        if not -len(args) <= i < len(args):
            raise InvalidArgumentError(f"{caller}: argnums names argument {i}, "
                                       f"the function got {len(args)}")
        given[i] = rebuild(args[i], functools.partial(fresh, caller), is_numbers)
    sources = tuple(given[i] for i in places)
    with tape:
        tape.watch(sources)
        out = f(*given, **kwargs)
    return out, sources if isinstance(argnums, tuple) else sources[0]


def fresh(caller: str, leaf: Any) -> Tensor:
    """Return the value of a leaf as a new tensor, because f(x, x) has two arguments."""
    x = as_tensor(leaf)
    if not x.dtype.is_inexact:
        raise DTypeError(f"{caller}: an argument of dtype {x.dtype} and shape {x.shape} has no "
                         "gradient; expected a floating dtype")
    return record_function(caller, lambda g, y, x: g, [x], [x])[0]


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Define the gradient of a function.

    Parameters
    ----------
    f : callable
        Returns a pair: its result, a tensor or nested tensors, and a gradient function, which
        takes the gradient of each result tensor and returns the gradient of each positional
        argument, or None. If `f` reads trainable variables other than its arguments, the
        gradient function also takes `variables=`, a list of them in the order in which they were
        read, and returns a pair: the gradients of the arguments, and a list of gradients of the
        variables.

    Returns
    -------
    callable
        Takes the arguments of `f` and returns only the result.

    Raises
    ------
    InvalidArgumentError
        If `f` reads variables and its gradient function does not take `variables=`, or does not
        return a gradient, or None, for each variable.

    Notes
    -----
    Enclosing tapes record the ops of `f` and of the gradient function, so gradients of higher order
    are available. Tensors that `f` reads but does not get as arguments have no gradient; to exclude
    a variable, pass `stop_gradient(v)` as an argument.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.custom_gradient
    ... def log1pexp(x):
    ...     e = df.exp(x)
    ...     return df.log(1. + e), lambda g: g * (1. - 1. / (1. + e))
    >>> df.grad(log1pexp)(100.).item()
    1.0
    >>> w = df.Variable(2.)
    >>> @df.custom_gradient
    ... def scale(x):
    ...     return x * w, lambda g, variables: (g * w, [g * x])
    >>> with df.GradientTape() as tape:
    ...     y = scale(df.constant(3.))
    >>> tape.gradient(y, w).item()
    3.0
    """
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [rebuild(a, as_tensor, is_numbers) for a in args]
        inputs = flatten_tensors(given)
        reads = Tape(True, False)
        reads.push()
        graph = current_graph()
        mark = graph.mark if graph is not None else None
        try:
            pair = f(*given, **kwargs)
        except BaseException as error:
            hide_frames(error)
            raise
        finally:
            reads.pop()
        if not (isinstance(pair, tuple) and len(pair) == 2 and callable(pair[1])):
            raise InvalidArgumentError(f"custom_gradient: {name} must return a pair of its result "
                                       "and the function that computes the gradient")
        result, gradient = pair
        mine = {tensor_id(x) for x in inputs}
        met = [(x, v) for x in reads.met or ()
               if (v := variable_of(x)) is not None and v.trainable]
        read = [x for x, _ in met if tensor_id(x) not in mine]
        variables = [v for x, v in met if tensor_id(x) not in mine]
        if variables and not takes_variables(gradient):
            raise InvalidArgumentError(
                f"custom_gradient: {name} reads {', '.join([v.name for v in variables])}, so its "
                "gradient function must take variables= and return a pair: the gradients "
                "of the arguments, and a list of gradients of the variables")

        def rule(g: tuple[Any, ...], y: Any, *_: Any) -> list[Any]:
            found = gradients_of(name, gradient, g, variables)
            return [as_tensor(r) if r is not None else None for r in found]

        outputs = [as_tensor(y) for y in flatten_tensors(result)]
        return pack_sequence_as(result, record_function(name, rule, inputs + read, outputs,
                                                        mark))

    return call


def takes_variables(gradient: Callable[..., Any]) -> bool:
    """Return True if a function has a keyword argument `variables`."""
    import inspect  # its import takes a fifth of the time of importing dualflow

    try:
        parameters = inspect.signature(gradient).parameters
    except (TypeError, ValueError):         # unknown for some functions written in C
        return True
    return "variables" in parameters or any(
        p.kind is p.VAR_KEYWORD for p in parameters.values())


def gradients_of(name: str, gradient: Callable[..., Any], g: tuple[Any, ...],
                 variables: list[Any]) -> list[Any]:
    """Return the flat results of a gradient function: first arguments, then variables."""
    if not variables:
        return flatten_tensors(gradient(*g))
    pair = gradient(*g, variables=list(variables))
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], list | tuple)
            and len(pair[1]) == len(variables)):
        raise InvalidArgumentError(
            f"custom_gradient: the gradient function of {name} must return a pair, the gradients "
            f"of the arguments and a list of gradients of its {len(variables)} variables")
    return flatten_tensors(pair[0]) + list(pair[1])
