"""Loops with a condition on tensors: Python loops in eager mode, loop nodes while a function is
traced. Names are TensorFlow's.
"""

from __future__ import annotations

from dualflow._core import TensorBase, current_graph
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.nest import flatten, parts, rebuild
from dualflow.ops.control_flow import state
from dualflow.ops.control_flow.fresh_identity import fresh_identities
from dualflow.ops.control_flow.tensor_array import TensorArray
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["while_loop"]


@filtered
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
               shape_invariants: Any = None, parallel_iterations: int = 10,
               back_prop: bool = True, swap_memory: bool = False,
               maximum_iterations: TensorLike | None = None, name: str | None = None, *,
               recompute: bool = False) -> Any:
    """Run ``while cond(*loop_vars): loop_vars = body(*loop_vars)``.

    Parameters
    ----------
    cond : callable
        Takes the loop variables and returns a bool of shape ().
    body : callable
        Takes the loop variables and returns the next ones with the same structure, dtypes and
        shapes. It may read enclosing values and assign variables.
    loop_vars : list or tuple of nested Tensors, or one
    shape_invariants : the same structure of shapes or TensorSpecs, optional
        A size that is None may change between iterations.
    parallel_iterations, swap_memory
        Ignored; accepted for compatibility with TensorFlow.
    back_prop : bool, default True
        If False, the loop has no gradient.
    maximum_iterations : int or integer Tensor of shape (), optional
        Maximal number of iterations.
    name : str, optional
    recompute : bool, default False
        If True, the gradient of a traced loop stores only the initial values of each iteration and
        recomputes the other residuals, bit-identically. This takes less memory and more time.

    Returns
    -------
    like `loop_vars`
        The last result of `body`, or the initial values.

    Raises
    ------
    InvalidArgumentError, DTypeError, ShapeError
        If structure, dtype or shape of a loop variable changes.

    Notes
    -----
    While a function is traced, `body` is recorded once; a run executes the loop in C.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def steps(n):
    ...     return df.while_loop(lambda k, n: n > 1,
    ...                          lambda k, n: (k + 1, df.where(n % 2 == 0, n // 2, 3 * n + 1)),
    ...                          (0, n))[0]
    >>> steps(df.constant(27)).item()
    111
    """
    single = type(loop_vars) is not tuple and not isinstance(loop_vars, list | tuple)
    carried = fresh_identities(state.tensors([loop_vars] if single else loop_vars, "while_loop"))
    limit = None if maximum_iterations is None else state.count(
        maximum_iterations, "while_loop: maximum_iterations")

    def step(*given: Any) -> Any:
        return _as_given(carried, body(*given))

    graph, arrays = current_graph(), _arrays(carried)
    if graph is not None and any([x.element_shape is None for x in arrays]):
        graph.trace_and_discard(lambda: step(*carried))  # sets the element shapes of the arrays
    shapes = None
    if shape_invariants is not None or any([x.dynamic_size for x in arrays]):
        shapes = _invariants(carried, [shape_invariants] if single else shape_invariants)
    if graph is not None:
        made = graph.while_loop(cond, step, carried, limit, shapes, "while_loop", name,
                                recompute=bool(recompute))
    else:
        made = _while(cond, step, carried, limit, shapes)
    made = made if back_prop else state.stopped(made)
    return made[0] if single else made


def _arrays(carried: Any) -> list[TensorArray]:
    """Return the tensor arrays that a loop carries."""
    found: list[TensorArray] = []
    rebuild(carried, lambda x: found.append(x) if isinstance(x, TensorArray) else None,
            lambda x: isinstance(x, TensorArray))
    return found


def _while(cond: Callable[..., Any], step: Callable[..., Any], carried: Any, limit: Any,
           shapes: Any) -> Any:
    """Run the loop in eager mode."""
    begun, rounds = carried, 0
    while state.truth("while_loop", "what cond returned", cond(*carried)) and (
            limit is None or rounds < limit):
        carried = fresh_identities(state.carried("while_loop", "loop_vars", begun, step(*carried),
                                                 shapes))
        rounds += 1
    return carried


def _as_given(carried: Any, made: Any) -> Any:
    """Convert the results of a body to the form of its inputs: a list may replace a tuple, a value
    a list of one."""
    if not isinstance(made, list | tuple) or (
            len(carried) == 1 and isinstance(carried[0], list | tuple)
            and (len(made) != 1 or not isinstance(made[0], list | tuple))):
        made = [made]
    if type(made) is not type(carried) and len(made) == len(carried):
        named = hasattr(carried, "_fields")
        return type(carried)(*made) if named else type(carried)(made)
    return made


def _invariants(carried: Any, invariants: Any) -> list[Any]:
    """Return a shape for each leaf of the loop variables."""
    values = flatten(carried)
    found = []
    given = _shapes_of(carried, invariants)
    if len(given) != len(values):
        raise InvalidArgumentError(f"while_loop: shape_invariants has {len(given)} shapes, "
                                   f"expected one for each of {len(values)} loop variables")
    for k, (x, shape) in enumerate(zip(values, given, strict=True)):
        if x is not None and shape is not None:
            shape = tuple(getattr(shape, "shape", shape))
            if not state.fits(x, shape, x):
                raise ShapeError(f"while_loop: loop variable {k} is {state.described(x)}, its "
                                 f"shape invariant {shape}")
        found.append(shape)
    return found


def _shapes_of(carried: Any, invariants: Any) -> list[Any]:
    """Return the leaves of `invariants`. Shapes, which are lists, count as leaves; None allows any
    shape. Tensor arrays provide their own."""
    if isinstance(carried, TensorArray):
        return [carried._loop_shape for _ in flatten(carried)]
    if isinstance(carried, TensorBase) or carried is None:
        return [invariants]
    if invariants is None:
        return [s for x in parts(carried) for s in _shapes_of(x, None)]
    if isinstance(carried, dict):
        return [s for key in sorted(carried) for s in _shapes_of(carried[key], invariants[key])]
    return [s for x, given in zip(carried, invariants, strict=True) for s in _shapes_of(x, given)]
