"""Branches on tensors: Python branches in eager mode, cond nodes while a function is traced. Names
are TensorFlow's.
"""

from __future__ import annotations

import functools

from dualflow import dtypes
from dualflow._core import Symbol, Tensor, as_tensor, current_graph
from dualflow._util.arguments import integer, shown
from dualflow.errors import InvalidArgumentError
from dualflow.ops.control_flow import state
from dualflow.ops.control_flow.fresh_identity import fresh_identities
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.tracebacks import hide_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = ["case", "cond", "switch_case"]

Branch: TypeAlias = "Callable[[], Any]"


def is_traced(x: Any) -> bool:
    """Return True if the value of a tensor is known only when a graph runs."""
    return type(x) is Symbol and current_graph() is not None


def cond(pred: TensorLike, true_fn: Branch, false_fn: Branch, name: str | None = None) -> Any:
    """Return ``true_fn()`` if `pred`, else ``false_fn()``.

    Parameters
    ----------
    pred : bool Tensor of shape ()
    true_fn, false_fn : callable
        Without arguments; they may read enclosing values and assign variables. Both return the
        same structure of tensors, with the same dtypes and ranks, or None in the same positions.
    name : str, optional

    Returns
    -------
    nested Tensors
        The return value of the selected branch.

    Raises
    ------
    InvalidArgumentError
        If `pred` is not a bool of shape (), or the branches return different structures.
    DTypeError, ShapeError
        If they return different dtypes or ranks.

    Notes
    -----
    In eager mode Python calls one branch. While a function is traced, both are called once and
    recorded; a run executes only the selected branch. If `pred` is a Python bool or an eager
    tensor, only the selected branch is recorded.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def f(x):
    ...     return df.cond(df.reduce_sum(x) > 0., lambda: x * 2., lambda: -x)
    >>> f(df.constant([1., 2.])).tolist(), f(df.constant([-1., -2.])).tolist()
    ([2.0, 4.0], [1.0, 2.0])
    """
    for branch, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(branch):
            raise InvalidArgumentError(f"cond: {what} is {shown(branch)}, expected a function")
    pred = state.truth("cond", "pred", pred)
    if not is_traced(pred):
        try:
            made = true_fn() if pred else false_fn()
        except BaseException as error:
            hide_frames(error)
            raise
        return fresh_identities(state.tensors(made, "cond"))
    return current_graph().cond(pred, (false_fn, true_fn), "cond", name, ("false_fn", "true_fn"))


def switch_case(branch_index: TensorLike,
                branch_fns: Sequence[Branch] | Sequence[tuple[int, Branch]] | Mapping[int, Branch],
                default: Branch | None = None, name: str | None = None) -> Any:
    """Return ``branch_fns[branch_index]()``, or ``default()`` if there is no such branch.

    Parameters
    ----------
    branch_index : integer Tensor of shape ()
    branch_fns : sequence of callable, sequence of (int, callable), or dict of int to callable
        Without arguments, returning the same structure of tensors, as for `cond`.
    default : callable, optional
        By default the last branch; for a dict, the branch with the greatest key.
    name : str, optional

    Returns
    -------
    nested Tensors

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def f(k, x):
    ...     return df.switch_case(k, [lambda: x, lambda: x * x, lambda: -x])
    >>> [f(df.constant(k), df.constant(3.)).item() for k in (0, 1, 2, 7)]
    [3.0, 9.0, -3.0, -3.0]
    """
    keys, branches = _by_index(branch_fns)
    index = as_tensor(branch_index, None, "switch_case")
    if index.shape != () or not index.dtype.is_integer:
        raise InvalidArgumentError(f"switch_case: branch_index is {state.described(index)}, "
                                   "expected an integer of shape ()")
    if default is not None:
        branches.append(default)
    last = len(branches) - 1
    if not is_traced(index):
        k = int(index)
        try:
            made = branches[keys.index(k) if k in keys else last]()
        except BaseException as error:
            hide_frames(error)
            raise
        return fresh_identities(state.tensors(made, "switch_case"))
    if keys != list(range(len(keys))) or index.dtype is not dtypes.int32:
        index = _place(index, keys, last)
    return current_graph().cond(index, branches, "switch_case", name)


def _by_index(branch_fns: Any) -> tuple[list[int], list[Branch]]:
    """Return the branch indices in ascending order, and the branches."""
    given = branch_fns.items() if hasattr(branch_fns, "items") else branch_fns
    pairs: list[tuple[int, Branch]] = []
    for k, item in enumerate(given):
        key, branch = item if isinstance(item, tuple) and len(item) == 2 else (k, item)
        if not callable(branch):
            raise InvalidArgumentError(f"switch_case: branch {shown(key)} is {shown(branch)}, "
                                       "expected a function")
        pairs.append((integer(key, "switch_case: the index of a branch"), branch))
    pairs.sort(key=lambda pair: pair[0])
    keys = [key for key, _ in pairs]
    if not pairs or len(set(keys)) < len(keys):
        raise InvalidArgumentError(f"switch_case: branches have the indices {keys}, expected one "
                                   "or more, each once")
    return keys, [branch for _, branch in pairs]


def _place(index: Tensor, keys: Sequence[int], last: int) -> Tensor:
    """Return the position of an index among the keys, or `last` if it is not a key."""
    index, place = cast(index, dtypes.int64), as_tensor(last, dtypes.int32)
    for k, key in enumerate(keys):
        place = where(equal(index, key), as_tensor(k, dtypes.int32), place)
    return place


def case(pred_fn_pairs: Sequence[tuple[TensorLike, Branch]] | Mapping[Any, Branch],
         default: Branch | None = None, exclusive: bool = False, strict: bool = False,
         name: str | None = None) -> Any:
    """Call the function of the first pair whose condition is true, else `default`.

    Parameters
    ----------
    pred_fn_pairs : sequence of (bool Tensor of shape (), callable)
    default : callable, optional
        If it is None and no condition is true, the call raises at run time.
    exclusive : bool, default False
        Whether to raise if more than one condition is true.
    strict : bool, default False
        Accepted for compatibility with TensorFlow and ignored; results keep their structure.
    name : str, optional

    Returns
    -------
    nested Tensors

    Raises
    ------
    InvalidArgumentError
        At run time, if no condition is true and there is no default, or if more than one is true
        and `exclusive` is set.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def sign(x):
    ...     return df.case([(x < 0., lambda: -1), (x > 0., lambda: 1)], default=lambda: 0)
    >>> [sign(df.constant(x)).item() for x in (-3., 0., 2.)]
    [-1, 0, 1]
    """
    pairs = list(pred_fn_pairs.items() if hasattr(pred_fn_pairs, "items") else pred_fn_pairs)
    if not all([isinstance(pair, tuple | list) and len(pair) == 2 and callable(pair[1])
                for pair in pairs]) or not (pairs or default):
        raise InvalidArgumentError(f"case: pred_fn_pairs is {shown(pred_fn_pairs)}, expected pairs "
                                   "of a bool tensor and a function")
    preds = [state.truth("case", f"condition {k}", pred) for k, (pred, _) in enumerate(pairs)]
    if exclusive or default is None:
        _check_conditions(preds, exclusive, default is None)
    branches = [f for _, f in pairs] + ([] if default is None else [default])
    if not any(map(is_traced, preds)):
        chosen = next((f for pred, f in zip(preds, branches, strict=False) if pred), branches[-1])
        try:
            made = chosen()
        except BaseException as error:
            hide_frames(error)
            raise
        return fresh_identities(state.tensors(made, "case"))
    place = as_tensor(len(branches) - 1, dtypes.int32)
    for k in range(len(preds) - 1, -1, -1):
        place = where(preds[k], as_tensor(k, dtypes.int32), place)
    what = [f"the function of condition {k}" for k in range(len(pairs))] + ["default"]
    return current_graph().cond(place, branches, "case", name, what)


def _check_conditions(preds: Sequence[Tensor], exclusive: bool, one: bool) -> None:
    """Raise at run time if too many or too few of the conditions are true."""
    host_call(functools.partial(check_case, exclusive, one),
              [cast(pred, dtypes.bool_) for pred in preds], "case")


def check_case(exclusive: bool, one: bool, *values: Tensor) -> None:
    """Raise if too many or too few of the conditions are true."""
    holding = [k for k, x in enumerate(values) if x]
    if exclusive and len(holding) > 1:
        raise InvalidArgumentError(f"case: conditions {holding} hold, expected one: "
                                   "exclusive=True")
    if one and not holding:
        raise InvalidArgumentError("case: no condition holds, and there is no default")
