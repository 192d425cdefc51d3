"""Python functions of dualflow ops that run as Python in graphs, with gradients."""

from __future__ import annotations

import functools

from dualflow._core import Tensor
from dualflow.autodiff.tape import GradientTape, UnconnectedGradients
from dualflow.ops import control_flow
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["py_function"]


@filtered
def py_function(func: Callable[..., Any] | None = None, inp: Sequence[TensorLike] | None = None,
                Tout: Any = None, use_tape_cache: bool = True, name: str | None = None) -> Any:
    """Call ``func(*inp)`` as Python, op by op, now or in each run of a graph.

    Parameters
    ----------
    func : callable
        Takes a Tensor for each input and returns a tensor or a number, or a list as long as `Tout`.
        Without it, `py_function` is a decorator.
    inp : sequence of Tensor
        Text is passed as a tensor of text.
    Tout : dtype, TensorSpec or Tensor like the result, or list of them
        The results of `func`, `df.string` for text. A dtype alone stands for any shape; in a graph,
        of the rank of the first input (0, if there are no inputs). A list, even of length 1, means
        a list of results.
    use_tape_cache : bool
        Ignored; accepted for compatibility with TensorFlow. Only the inputs are stored.
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
    The inputs have gradients of any order unless an input or a result is text; other tensors that
    `func` reads have none. The gradient calls `func` again under a tape. Calls are never
    merged or removed.

    Examples
    --------
    >>> import dualflow as df
    >>> def up_to_the_limit(x):
    ...     while df.reduce_sum(x) < 10.:      # decided by Python, each time
    ...         x = x * 2.
    ...     return x
    >>> @df.function
    ... def f(x):
    ...     return df.py_function(up_to_the_limit, [x], df.float32)
    >>> f(df.constant([1., 2.])).tolist()
    [4.0, 8.0]
    >>> df.grad(lambda x: df.reduce_sum(f(x)))(df.constant([1., 2.])).tolist()
    [4.0, 4.0]
    """
    if func is None:
        return lambda function: functools.wraps(function)(
            lambda *args: py_function(function, args, Tout, use_tape_cache, name))
    registered = control_flow.registered
    called = name or registered.name_of(func, "py_function")
    rule = functools.partial(back, func, called)
    return registered.from_python(func, () if inp is None else inp, Tout, called, lambda x: x, rule)


def back(func: Callable[..., Any], name: str, g: tuple[Any, ...], ys: tuple[Tensor, ...],
         *inputs: Tensor) -> list[Any]:
    """Compute the gradient of a function by calling it again under a tape."""
    wanted = [k for k, x in enumerate(inputs) if x.dtype.is_inexact]
    flows = [k for k, y in enumerate(ys) if y.dtype.is_inexact]

    def gradient(*given: Tensor) -> Sequence[Any]:
        gs, xs = given[:len(flows)], given[len(flows):]
        with GradientTape() as tape:
            for k in wanted:
                tape.watch(xs[k])
            made = func(*xs)
            made = made if isinstance(made, list | tuple) else [made]
        return tape.gradient([made[k] for k in flows], [xs[k] for k in wanted],
                             output_gradients=list(gs),
                             unconnected_gradients=UnconnectedGradients.ZERO)

    found = iter(py_function(gradient, [*[g[k] for k in flows], *inputs],
                             [inputs[k] for k in wanted], name=f"{name}_gradient"))
    return [next(found) if k in wanted else None for k in range(len(inputs))]
