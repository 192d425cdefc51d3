"""Elements: nested tuples and dicts of tensors. Stacking, slicing and joining.

As in tf.data, a list of numbers is one tensor, not a container. A composite tensor is one leaf,
which knows how it is batched and sliced (`nest.Composite._batched`, `_as_rows`). Leaves that are
not tensors (str, bytes, None, a dataset) are passed through; stacking them returns a list. Text is
wrapped (`text.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from dualflow import nest
from dualflow._core import (
    Symbol,
    Tensor,
    TensorBase,
    TensorSpec,
    as_tensor,
    constant,
    evaluate,
    get_op,
    make_attrs,
)
from dualflow._util.arguments import shown
from dualflow.data.text import wrapped
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.string_tensor import StringTensor, string, text as as_string

STACK, CONCAT = get_op("stack"), get_op("concat")
LEAVES = TensorBase, list, nest.Composite
HANDED_ON = str, bytes, nest.Composite
FIRST = make_attrs(STACK, axis=0), make_attrs(CONCAT, axis=0)


def is_whole(item: Any) -> bool:
    """Return True for a leaf that `nest` would take apart."""
    return isinstance(item, list | nest.Composite)


def is_leaf(item: Any) -> bool:
    return isinstance(item, LEAVES) or not nest.is_nested(item)


# --- decomposition and reassembly ----------------------------------------------------------------

def flatten(element: Any) -> list[Any]:
    """Return the leaves of an element, left to right."""
    if is_leaf(element):
        return [element]
    if type(element) is tuple:
        if all(map(is_leaf, element)):
            return list(element)
        return [leaf for part in element for leaf in flatten(part)]
    leaves: list[Any] = []
    nest.rebuild(element, leaves.append, is_whole)
    return leaves


def same_structure(a: Any, b: Any) -> bool:
    """Return True if two elements have the same structure."""
    if is_leaf(a) or type(a) is not type(b):
        return is_leaf(a) and is_leaf(b)
    names, parts = nest.level(a)
    others, more = nest.level(b)
    return list(names) == list(others) and all(map(same_structure, parts, more))


def packer(template: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a function that assembles leaves in the structure of `template`."""
    if is_leaf(template):
        return itemgetter(0)
    if type(template) is tuple and all(map(is_leaf, template)):
        return tuple
    return lambda leaves: pack(template, leaves)


def pack(template: Any, leaves: Iterable[Any]) -> Any:
    """Return the template with its leaves replaced."""
    rest = iter(leaves)
    return nest.rebuild(template, lambda _: next(rest), is_whole)


def map_leaves(function: Callable[[Any], Any], element: Any) -> Any:
    """Return the structure with a function applied to each leaf."""
    return nest.rebuild(element, function, is_whole)


def paths(element: Any) -> list[str]:
    """Return the Python path of each leaf for messages: " at ['x']", or "" for a single leaf."""
    marked = pack(element, [None] * len(flatten(element)))
    return [f" at {path}" if path else "" for path, _ in nest.flatten_with_path(marked)]


# --- conversion of user values -------------------------------------------------------------------

def as_element(value: Any, caller: str) -> Any:
    """Convert a result of a user's function or iterator to an element."""
    if type(value) is Tensor:
        return value
    if type(value) is tuple and all([type(x) is Tensor for x in value]):
        return value
    return nest.rebuild(value, lambda x: as_leaf(x, caller), is_whole)


def as_leaf(value: Any, caller: str) -> Any:
    """Convert a value to a tensor; strings, None and datasets are returned unchanged."""
    if type(value) is Tensor:
        return value
    if value is None or isinstance(value, HANDED_ON) or hasattr(type(value), "element_spec"):
        return wrapped(value)
    if type(value) is Symbol:
        raise DTypeError(f"{caller}: got the traced tensor {value.name}, which has no value "
                         "outside "
                         "the traced function")
    if isinstance(value, list) and is_text(value):
        return wrapped(value)
    if isinstance(value, StringTensor):
        return wrapped(value.tolist())
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("U", "S"):                                      # NumPy strings
        return wrapped(value.tolist())
    if kind == "O" and hasattr(value, "tolist"):                # text of pandas, object arrays
        listed = value.tolist()
        leaves = value.ravel().tolist() if hasattr(value, "ravel") else listed
        if isinstance(listed, list) and all([isinstance(x, HANDED_ON) for x in leaves]):
            return wrapped(listed)
    return as_tensor(value, None, caller)


def is_text(value: list[Any]) -> bool:
    """Return True if nested lists hold strings."""
    first: Any = value
    while isinstance(first, list) and first:
        first = first[0]
    return isinstance(first, str | bytes)


def fitted(value: Any, spec: Any, caller: str) -> Any:
    """Convert a value that a user's function returned to an element with the given specs.

    Raise an error if its structure or a shape differs from the specs.
    """
    try:
        leaves = [value] if is_leaf(spec) else nest.flatten_up_to(
            map_leaves(lambda _: None, spec), value)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{caller}: {error}") from None
    places = zip(leaves, flatten(spec), paths(spec), strict=True)
    return pack(spec, [fitted_leaf(x, one, f"{caller}{path}") for x, one, path in places])


def fitted_leaf(value: Any, spec: Any, caller: str) -> Any:
    if isinstance(spec, nest.Composite):
        if not isinstance(value, nest.Composite) or common(spec, value._spec(), caller) != spec:
            raise DTypeError(f"{caller}: got {shown(value)}, expected {spec}")
        return value
    if not isinstance(spec, TensorSpec):
        if not isinstance(value, spec):
            raise DTypeError(f"{caller}: got {shown(value)}, expected a {spec.__name__}")
        return wrapped(value)
    x = as_dtype_of(spec, value, caller)
    if spec.ndim is not None and not fits(x.shape, spec.shape):
        raise ShapeError(f"{caller}: got shape {x.shape}, expected {spec.shape}")
    return x


def as_dtype_of(spec: TensorSpec, value: Any, caller: str) -> Any:
    """Convert a value to a leaf of the dtype of a spec."""
    if spec.dtype is string:
        return as_leaf(as_string(value, caller), caller)
    return constant(value, spec.dtype, caller)


def fits(shape: tuple[int | None, ...], promised: tuple[int | None, ...]) -> bool:
    return len(shape) == len(promised) and all(
        [want is None or d == want for d, want in zip(shape, promised, strict=True)])


# --- specs ---------------------------------------------------------------------------------------

def spec_of(element: Any) -> Any:
    """Return dtype and shape of each tensor, and the type of each other leaf."""
    return map_leaves(leaf_spec, element)


def leaf_spec(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return TensorSpec(leaf.shape, leaf.dtype)
    if isinstance(leaf, nest.Composite):
        return leaf._spec()
    if isinstance(leaf, str | bytes):
        return str if isinstance(leaf, str) else bytes
    return listed(leaf_spec(leaf[0]) if leaf else str) if isinstance(leaf, list) else type(leaf)


def listed(spec: Any) -> Any:
    """Return the spec of stacked leaves that are not tensors."""
    return list[spec]


def is_dense(spec: Any) -> bool:
    """Return True for the spec of tensors whose batches are composites."""
    return isinstance(spec, nest.Composite) and spec._is_dense


def mapped(spec: Any, function: Callable[[Any], Any], of_other: Callable[[Any], Any]) -> Any:
    """Return a spec with functions applied to the specs of tensors, and to other leaves."""
    return map_leaves(lambda s: s._map_specs(function) if isinstance(s, nest.Composite)
                      else function(s) if isinstance(s, TensorSpec) else of_other(s), spec)


def with_first(spec: Any, size: int | None) -> Any:
    """Return the spec of `size` stacked elements."""
    return mapped(spec, lambda s: s if unranked(s) else TensorSpec((size, *s.shape), s.dtype),
                  listed)


def unranked(spec: Any) -> bool:
    """Return True for the spec of a tensor of unknown rank."""
    return isinstance(spec, TensorSpec) and spec.ndim is None


def without_first(spec: Any) -> Any:
    """Return the spec of the rows of an element."""
    return mapped(spec, lambda s: TensorSpec(s.shape[1:], s.dtype), lambda s: s.__args__[0])


def common(spec: Any, other: Any, caller: str) -> Any:
    """Return the common spec of two kinds of elements; sizes that differ become None."""
    def both(a: Any, b: Any) -> Any:
        if a == b:
            return a
        if isinstance(a, nest.Composite) and type(a) is type(b):
            return a._map_specs(both, b)
        if not (isinstance(a, TensorSpec) and isinstance(b, TensorSpec)
                and a.dtype is b.dtype and a.ndim == b.ndim):
            raise differ
        if a.ndim is None:
            return a
        sizes = [x if x == y else None for x, y in zip(a.shape, b.shape, strict=True)]
        return TensorSpec(sizes, a.dtype)

    differ = DTypeError(f"{caller}: elements are {spec} and {other}, expected matching elements")
    if not same_structure(spec, other):
        raise differ
    return pack(spec, map(both, flatten(spec), flatten(other)))


def unsized(spec: Any) -> Any:
    """Return a spec without sizes."""
    return mapped(spec, lambda s: s if unranked(s) else TensorSpec([None] * s.ndim, s.dtype),
                  lambda s: s)


# --- rows ----------------------------------------------------------------------------------------

def stack(elements: Sequence[Any], caller: str, spec: Any = None) -> Any:
    """Stack elements with the same structure along a new first dimension. Tensors that are rows of
    a composite in `spec` become a composite."""
    first = elements[0]
    columns = plain_columns(elements) or any_columns(elements, caller)
    try:
        if spec is not None:
            return pack(spec, [
                s._batched(column) if isinstance(s, nest.Composite) and not isinstance(
                    column[0], nest.Composite) else stacked(column)
                for s, column in zip(flatten(spec), columns, strict=True)])
        return pack(first, [stacked(column) for column in columns])
    except (ShapeError, DTypeError, ValueError) as error:
        raise differing(elements, caller, error) from None


def plain_columns(elements: Sequence[Any]) -> list[Sequence[Any]] | None:
    """Return the columns of elements that are tensors or tuples of tensors; None for others."""
    first = elements[0]
    columns: list[Sequence[Any]] = [elements]
    if type(first) is tuple:
        if not all([type(x) is tuple and len(x) == len(first) for x in elements]):
            return None
        columns = list(zip(*elements, strict=True))
    return columns if all([type(x) is Tensor for column in columns for x in column]) else None


def any_columns(elements: Sequence[Any], caller: str) -> list[Sequence[Any]]:
    """Return the columns of elements. Raise an error if their structures differ."""
    for k, element in enumerate(elements):
        if not same_structure(elements[0], element):
            raise InvalidArgumentError(
                f"{caller}: elements 0 and {k} of a batch differ in structure: "
                f"{spec_of(elements[0])}, {spec_of(element)}")
    return list(zip(*map(flatten, elements), strict=True))


def stacked(column: Sequence[Any]) -> Any:
    if isinstance(column[0], nest.Composite):
        if not all([type(x) is type(column[0]) for x in column]):
            raise DTypeError("types differ")
        return column[0]._batched(column)
    if not isinstance(column[0], Tensor):
        return wrapped(list(column))
    dtype = column[0].dtype
    if not all([isinstance(x, Tensor) and x.dtype is dtype for x in column]):
        raise DTypeError("dtypes differ")
    return evaluate(STACK, list(column), FIRST[0])[0]


def differing(elements: Sequence[Any], caller: str, error: Exception) -> Exception:
    """Return the error for elements that cannot be stacked, with the first difference."""
    for k, element in enumerate(elements):
        for path, a, b in zip(paths(element), flatten(spec_of(elements[0])),
                              flatten(spec_of(element)), strict=True):
            if a != b:
                return ShapeError(f"{caller}: elements 0 and {k} of a batch differ{path}: "
                                  f"{text(a)}, {text(b)}; padded_batch pads sizes that differ")
    return error


def text(spec: Any) -> str:
    if isinstance(spec, TensorSpec):
        return f"{spec.dtype} {spec.shape}"
    return spec.__name__ if isinstance(spec, type) else str(spec)


def join(blocks: Sequence[Any]) -> Any:
    """Concatenate blocks of stacked elements."""
    if len(blocks) == 1:
        return blocks[0]
    return pack(blocks[0], [joined(column) for column in zip(*map(flatten, blocks), strict=True)])


def joined(column: Sequence[Any]) -> Any:
    if isinstance(column[0], nest.Composite):
        return column[0]._join(column)
    if isinstance(column[0], list):
        return wrapped([x for part in column for x in part])
    return evaluate(CONCAT, list(column), FIRST[1])[0]


def as_rows(leaf: Any) -> Any:
    """Return a sequence of the rows of a leaf of stacked elements."""
    return leaf._as_rows() if isinstance(leaf, nest.Composite) else leaf


def rows(element: Any, begin: int, end: int) -> Any:
    """Return a range of rows of stacked elements; tensors are views."""
    return map_leaves(lambda x: as_rows(x)[begin:end], element)
