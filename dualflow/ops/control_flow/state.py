"""Checks of the nested tensors that branches return and loops carry, shared by eager mode and
graphs. None may replace a tensor and remains None. Static fields of composites, such as numbers and
text of an ExtensionType, are not carried: they must be equal in all branches and iterations.
"""

from __future__ import annotations

from dualflow._core import (
    Dim,
    Operand,
    Symbol,
    Tensor,
    TensorBase,
    as_tensor,
    current_graph,
    unwrapped,
)
from dualflow._util.arguments import integer, shown
from dualflow._util.late_binding import late
from dualflow.errors import DTypeError, DualflowError, InvalidArgumentError, ShapeError
from dualflow.nest import (
    Composite,
    assert_same_structure,
    flatten,
    flatten_with_path,
    pack_sequence_as,
    rebuild,
)
from dualflow.ops.array.shape import same_size, stop_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

Shape: TypeAlias = "Sequence[int | None]"
TENSORS = TensorBase, Operand       # Operand: constant text


def tensors(structure: Any, caller: str) -> Any:
    """Convert the variables, numbers and arrays of a structure to tensors."""
    return _rebuilt(traced_text(structure), lambda x: as_tensor(x, None, caller))


def traced_text(structure: Any) -> Any:
    """Return a structure with constant text as a composite of handles, which graphs can carry."""
    if not any([isinstance(x, Operand) for x in flatten(structure)]):
        return structure
    return rebuild(structure, lambda x: x._traced() if isinstance(x, Operand) else x)


def leaves(structure: Any) -> list[Any]:
    """Return the tensors of a structure."""
    found: list[Any] = []
    _rebuilt(structure, found.append)
    return found


def packed(structure: Any, values: Sequence[Any]) -> Any:
    """Return the structure with its tensors replaced by `values`."""
    left = iter(values)
    return _rebuilt(structure, lambda x: next(left))


def stopped(structure: Any) -> Any:
    """Apply `stop_gradient` to the tensors of a structure."""
    return _rebuilt(structure, stop_gradient)


def _rebuilt(structure: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a structure with `leaf` applied to each leaf but None and static fields."""
    def field(x: Any) -> Any:
        return leaf(x) if isinstance(x, TENSORS) else x

    def outside(x: Any) -> Any:
        if _has_static_fields(x):
            return rebuild(x, field)
        return None if x is None else leaf(x)

    return rebuild(structure, outside, _has_static_fields)


def _has_static_fields(x: Any) -> bool:
    return isinstance(x, Composite) and x._has_static_fields


def is_static(structure: Any) -> list[bool]:
    """Return whether each leaf of a structure is None or a static field."""
    found: list[bool] = []

    def outside(x: Any) -> Any:
        if _has_static_fields(x):
            found.extend([not isinstance(y, TENSORS) for y in flatten(x)])
        else:
            found.append(x is None)

    rebuild(structure, outside, _has_static_fields)
    return found


def eval_shape(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return the results of a function for nested tensors like `args`, as Symbols. The function is
    traced, not run."""
    return late("eval_shape")(f, args)


def described(x: Any) -> str:
    """Return the dtype, shape and source line of a tensor, for a message."""
    if not isinstance(x, TensorBase):
        return shown(x)
    if not isinstance(x, Symbol):
        return f"{x.dtype} {x.shape}"
    at = getattr(x.node, "line", None)
    return f"{x.dtype} {x.known_shape}" + (f" (made at {at})" if at else "")


def number_like(x: Any, like: Tensor) -> Tensor | None:
    """Convert a Python number to the dtype of `like`; return None if it is not a number or not
    compatible."""
    x = unwrapped(x)
    number = x.hint if isinstance(x, Dim) else x
    if isinstance(number, bool):
        fits = like.dtype.name == "bool"
    else:
        fits = ((isinstance(number, int | float) and (
            like.dtype.is_inexact or (isinstance(number, int) and like.dtype.name != "bool")))
            or (isinstance(number, complex) and like.dtype.is_complex))
    return as_tensor(x, like.dtype) if fits else None


def check_structure(caller: str, first: Any, other: Any, what: Callable[[str], str],
                    advice: str) -> None:
    """Raise unless two structures match, with tensors in the same positions and equal
    static fields."""
    try:
        assert_same_structure(first, other)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{caller}: {what('')}: {error}; {advice}") from None
    for (path, x), y, a, b in zip(flatten_with_path(first), flatten(other), is_static(first),
                                  is_static(other), strict=True):
        if a != b or (a and not _equal(x, y)):
            raise InvalidArgumentError(
                f"{caller}: {what(path)}: {described(x)} and {described(y)}; {advice}")


def _equal(x: Any, y: Any) -> bool:
    """Return True if two static fields are equal."""
    return x is y or (type(unwrapped(x)) is type(unwrapped(y)) and bool(x == y))


def carried(caller: str, name: str, before: Any, after: Any,
            shapes: Sequence[Shape | None] | None = None) -> Any:
    """Check that the results of an iteration are valid inputs of the next, and convert them.

    Parameters
    ----------
    caller : str
        The name of the op.
    name : str
        The name of the carry.
    before, after : nested tensors
        Inputs and results of the iteration.
    shapes : sequence of shape, optional
        One per tensor; a size that is None may change.
    """
    if shapes is None and _plainly_equal(before, after):
        return after
    check_structure(caller, before, after,
                    lambda path: f"{name}{path} changes its structure in an iteration",
                    "return the structure of the inputs")
    made = []
    pairs = zip(flatten_with_path(before), flatten(after), is_static(before), strict=True)
    for k, ((path, x), y, static) in enumerate(pairs):
        made.append(y if static else _next(
            caller, name + path, x if isinstance(x, TensorBase) else as_tensor(x), y,
            None if shapes is None else shapes[k]))
    return pack_sequence_as(after, made)


def _plainly_equal(before: Any, after: Any) -> bool:
    """Return True if both are flat lists or tuples of tensors with equal types. This is the common
    case, and the only check that is cheap enough for every eager iteration."""
    return (type(before) is type(after) and type(before) in (list, tuple)
            and len(before) == len(after) and all(
                [type(x) is Tensor and type(y) is Tensor and x.dtype is y.dtype
                 and x.shape == y.shape for x, y in zip(before, after, strict=True)]))


def _next(caller: str, name: str, before: Any, value: Any, shape: Shape | None) -> Tensor:
    """Check that `value` may replace the carry `before`, and convert it to a tensor."""
    after = number_like(value, before)
    if after is None:
        after = as_tensor(value, None, caller)
    if after.dtype is not before.dtype:
        raise DTypeError(f"{caller}: {name} is {described(before)} before an iteration and "
                         f"{described(after)} after it; use cast so that both are {before.dtype}, "
                         f"or begin with {after.dtype}")
    if not fits(after, before.shape if shape is None else shape, before):
        advice = ("give shape_invariants with None where its size changes" if caller == "while_loop"
                  else "it must keep its shape")
        want = before.shape if shape is None else tuple(shape)
        allowed = f", expected {want}" if shape is not None else ""
        raise ShapeError(f"{caller}: {name} is {described(before)} before an iteration and "
                         f"{described(after)} after it{allowed}; {advice}")
    return after


def fits(x: Tensor, shape: Shape, like: Tensor) -> bool:
    """Return True if a tensor may have a shape, as far as its sizes are known before the run."""
    if x.ndim != len(shape):
        return False
    if getattr(x, "data_dependent_shape", False) or getattr(like, "data_dependent_shape", False):
        return True                     # the sizes are checked at run time
    return all([n is None or n == m for n, m in zip(shape, x.shape, strict=True)])


def truth(caller: str, name: str, x: Any) -> Tensor:
    """Convert `x` to a bool of shape (); raise if it is not one."""
    try:
        found = as_tensor(x, None, caller)
    except DualflowError as error:
        raise InvalidArgumentError(f"{caller}: {name} is {shown(x)}, expected a bool of shape (): "
                                   f"{error}") from None
    if found.ndim or found.dtype.name != "bool":
        raise InvalidArgumentError(f"{caller}: {name} is {described(found)}, expected a bool of "
                                   "shape "
                                   "()")
    return found


def n_rows(caller: str, structure: Any, what: str) -> Any:
    """Return the common number of rows of the tensors of a structure."""
    found: list[tuple[str, Any]] = []
    for path, x in flatten_with_path(structure):
        if not isinstance(x, TensorBase):       # None or a static field
            continue
        if not x.ndim:
            raise ShapeError(f"{caller}: {what}{path} is {described(x)}, expected at least one "
                             "dimension, the dimension of rows")
        found.append((f"{what}{path}", x))
    for name, x in found[1:]:
        if not same_size(x.shape[0], found[0][1].shape[0]):
            raise ShapeError(f"{caller}: {found[0][0]} is {described(found[0][1])} and {name} is "
                             f"{described(x)}, expected equal numbers of rows")
    return found[0][1].shape[0] if found else None


def count(n: Any, what: str) -> Any:
    """Return a trip count: an int, or a Dim or tensor that is known at run time."""
    if isinstance(n, Dim):
        return n
    if isinstance(n, TensorBase):
        n = as_tensor(n, None, what)
        if n.shape != () or not n.dtype.is_integer:
            raise InvalidArgumentError(f"{what} is {described(n)}, expected an integer of shape "
                                       "()")
        return n if current_graph() is not None else n.item()
    n = integer(n, what)
    if n < 0:
        raise InvalidArgumentError(f"{what} is {n}, expected 0 or more")
    return n
