"""Arguments of a traced function: nested structures, leaves with paths, and the key of a call.

`function.py` binds each call with `Arguments.bind`; `concrete.py` packs results with `rebuild`. The
skeleton of a structure is hashable, made of nested tuples. Leaves are in the order of the
structure; `flatten` and `rebuild` must agree about it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from dualflow._core import (
    Dim,
    Operand,
    Symbol,
    Tensor,
    TensorBase,
    TensorSpec,
    Variable,
    as_tensor,
    current_graph,
    unwrapped,
)
from dualflow._util.late_binding import late
from dualflow._util.named_tuple import NamedTuple
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, SignatureError
from dualflow.graph.calls.exact import MUTABLE, contradict, exact_key, is_numpy_scalar
from dualflow.graph.calls.signature import Fixed, Signature, required_shape, text_parts, with_fixed
from dualflow.nest import SEQUENCES, fields, inside, is_nested, level, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAF = "leaf"
SMALL = 2**24             # larger ints are another kind of number; see dims.pxi
AUTOMATIC_NAME = "Variable"         # before an underscore and a number


def is_array(x: Any) -> bool:
    """Return True if a value is an array that becomes a tensor. NumPy scalars count as numbers."""
    return (hasattr(x, "__array__") or hasattr(x, "__dlpack__")) and not isinstance(
        x, TensorBase | Dim | type) and not is_numpy_scalar(x)


def may_change(x: Any) -> bool:
    """Return True if a value is a number of a type that can be an input of a program."""
    return type(x) in (int, float) or (is_numpy_scalar(x) and x.dtype.kind in "iuf")


def flatten(item: Any, path: str, leaves: list[Any], paths: list[str], arrays: bool = False,
            around: tuple[int, ...] = ()) -> Any:
    """Append the leaves of a structure and their paths to the lists; return the skeleton. Arrays
    become tensors unless `arrays` is True. Recursive."""
    text = None if arrays or isinstance(item, TensorBase) else text_parts(item)
    if text:
        return text[0], ("_handles",), (flatten(text[1], path, leaves, paths),)
    if isinstance(item, TensorBase) or not is_nested(item):
        leaves.append(item if arrays else leaf_of(item, path))
        paths.append(path)
        return LEAF
    around = inside(item, around)
    names, held = level(item)
    inner = tuple([flatten(x, path + step, leaves, paths, arrays, around)
                   for step, x in zip(steps(item, names), held, strict=True)])
    if isinstance(item, dict):
        place = {n: k for k, n in enumerate(names)}
        first = (item.default_factory,) if isinstance(item, defaultdict) else ()
        return (type(item), tuple([n if type(n) is str else Key(n) for n in item]), *first,
                tuple([place[n] for n in item]), inner)
    if isinstance(item, SEQUENCES):
        return type(item), inner
    return getattr(item, "_value_type", None) or type(item), fields(item), inner


def leaf_of(item: Any, path: str) -> Any:
    """Return a leaf in the form that the function receives. Arrays and objects that hold a Tensor
    become tensors. Objects that hold a Variable are not changed: they are read on use."""
    held = unwrapped(item)
    if held is item:
        return as_tensor(item, None, path) if is_array(item) else item
    return item if isinstance(held, Variable) else held


def rebuild(treedef: Any, leaves: Iterator[Any]) -> Any:
    """Return the structure of a skeleton with other leaves."""
    if treedef is LEAF:
        return next(leaves)
    kind: Any = treedef[0]
    inner = [rebuild(s, leaves) for s in treedef[-1]]
    if issubclass(kind, dict):
        names = [n.value if type(n) is Key else n for n in treedef[1]]
        return kind(*treedef[2:-2], {n: inner[k] for n, k in zip(names, treedef[-2],
                                                                 strict=True)})
    if hasattr(kind, "_fields") or issubclass(kind, Operand):
        return getattr(kind, "_made", kind)(*inner)
    if issubclass(kind, list | tuple):
        return kind(inner)
    return kind(**dict(zip(treedef[1], inner, strict=True)))            # a dataclass


def fresh(x: Any) -> Any:
    """Return a value that many calls return, copied if it is mutable."""
    own = isinstance(x, MUTABLE) or (hasattr(x, "__array_interface__")
                                     and not isinstance(x, type) and not is_numpy_scalar(x))
    return x.copy() if own else x


def unordered(treedefs: Any) -> Any:
    """Return skeletons of arguments without the order of dict keys."""
    return tuple([_unordered(s) for s in treedefs])


def _unordered(treedef: Any) -> Any:
    if treedef is LEAF:
        return treedef
    inner = unordered(treedef[-1])
    if issubclass(treedef[0], dict):
        names = dict(zip(treedef[-2], treedef[1], strict=True))
        return (treedef[0], tuple([names[k] for k in sorted(names)]), *treedef[2:-2], inner)
    return (*treedef[:-1], inner)


class TensorLeaf(NamedTuple):
    """The key of a tensor leaf: dtype and shape; None admits any size."""

    dtype: Any
    shape: tuple[int | None, ...]

    def matches(self, other: Any) -> bool:
        """Return True if the key of a leaf of a call matches this key."""
        return (isinstance(other, TensorLeaf) and other.dtype is self.dtype
                and len(other.shape) == len(self.shape)
                and all(m is None or m == n for m, n in zip(self.shape, other.shape, strict=True)))

    def __str__(self) -> str:
        dims = ", ".join("None" if d is None else str(d) for d in self.shape)
        return f"{self.dtype.name} ({dims}{',' if len(self.shape) == 1 else ''})"


class NumberLeaf(NamedTuple):
    """The key of a number that is an input of the program. `large`: an int beyond `SMALL`."""

    kind: type
    large: bool = False

    def matches(self, other: Any) -> bool:
        return other == self or (isinstance(other, StaticLeaf) and may_change(other.value)
                                 and number_leaf(other.value) == self)

    def __str__(self) -> str:
        return f"any {'large ' * self.large}{self.kind.__name__}"


def number_leaf(x: Any) -> NumberLeaf:
    """Return the key that admits all numbers which may replace `x`."""
    return NumberLeaf(type(x), type(x) is int and not -SMALL <= x <= SMALL)


class VariableLeaf(NamedTuple):
    """The key of a leaf that is any Variable like this. `place`: the first leaf that is the same
    Variable."""

    dtype: Any
    shape: tuple[int, ...]
    trainable: bool
    name: str
    place: int

    def matches(self, other: Any) -> bool:
        v = other.value if isinstance(other, StaticLeaf) else None
        return isinstance(v, Variable) and variable_leaf(v, self.place) == self

    def __str__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"any Variable {self.name}{self.dtype.name} ({dims}{',' * (len(self.shape) == 1)})"


def variable_leaf(v: Variable, place: int) -> VariableLeaf:
    """Return the key that admits Variables which may replace `v`. A name that the user chose is
    part of the key, since Python may read it."""
    word, _, number = v.name.partition("_")
    name = "" if word == AUTOMATIC_NAME and number.isdecimal() else f"{v.name} "
    return VariableLeaf(v.dtype, v.shape, v.trainable, name, place)


class StaticLeaf:
    """The key of a Python value that is part of the trace. It admits values that are identical in
    every respect, or only the object itself if it is not comparable."""

    __slots__ = ("hash", "key", "value")

    def __init__(self, value: Any) -> None:
        self.value: Any = value
        self.key: int = exact_key(value)
        try:
            self.hash: int = hash(self.key)
        except TypeError:
            self.key, self.hash = id(value), id(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, StaticLeaf) or type(self.value) is not type(other.value):
            return False
        return self.key is other.key or bool(
            self.hash == other.hash and self.key == other.key
            and (self.key is not self.value or not contradict(self.value, other.value)))

    def matches(self, other: Any) -> bool:
        return self == other

    @property
    def lasting(self) -> bool:
        """True if the value of the object cannot change."""
        return not isinstance(self.value, MUTABLE)

    def __str__(self) -> str:
        text = repr(self.value)
        return text if len(text) <= 40 else f"a {type(self.value).__name__}"


class Key(StaticLeaf):
    """A key of a dict among the arguments, in skeletons."""

    __slots__ = ()


def leaf_key(x: Any) -> TensorLeaf | StaticLeaf:
    """Return the part of a call's key for a leaf."""
    if isinstance(x, Symbol):
        if x.graph is not current_graph():
            x.graph.raise_leaked(x, "a call of a function")
        return TensorLeaf(x.dtype, x.known_shape)
    if isinstance(x, Tensor | TensorSpec):
        return TensorLeaf(x.dtype, x.shape)
    return StaticLeaf(x)


class Arguments:
    """The signature of a Python function; binds the arguments of calls.

    Parameters
    ----------
    function : callable
    signature : sequence of nested TensorSpec, optional
        Required types of the positional arguments.
    """

    def __init__(self, function: Callable[..., Any], name: str,
                 signature: Sequence[Any] | None) -> None:
        self.name = name
        self.signature: Signature = Signature(function)
        self.names, self.simple = self.signature.names, self.signature.simple
        self.given = signature
        self.specs: list[Any] | None = None
        self.spec_paths: list[str] = []
        if signature is not None:
            self.specs = []
            if isinstance(signature, TensorSpec) or not isinstance(signature, Sequence):
                raise InvalidArgumentError(f"{name}: input_signature is a "
                                           f"{type(signature).__name__}, expected a list with an "
                                           "entry for each positional argument")
            signature = with_fixed(list(signature))
            self._check_specs(signature)
            try:
                bound = self.signature.full.bind(*signature)
            except TypeError as error:
                raise ShapeError(
                    f"{name}: input_signature does not match its arguments: {error}") from None
            bound.apply_defaults()
            self.spec_skeleton: tuple[Any, ...] = tuple([
                flatten(x, n, self.specs, self.spec_paths) for n, x in bound.arguments.items()])

    def _check_specs(self, signature: Sequence[Any]) -> None:
        specs: list[Any] = []
        paths: list[str] = []
        flatten(signature, "input_signature", specs, paths)
        for spec, path in zip(specs, paths, strict=True):
            if not isinstance(spec, TensorSpec | Fixed):
                raise InvalidArgumentError(
                    f"{self.name}: {path} is {spec!r}, expected a TensorSpec")

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any],
                                                                           list[str]]:
        """Return skeleton, leaves and paths of a call's arguments, with defaults filled in."""
        leaves: list[Any] = []
        paths: list[str] = []
        if self.specs is not None:
            args, kwargs = self._as_tensors(args, kwargs)
        values = None if kwargs else self.signature.values(args)
        if values is not None:
            treedef = tuple([flatten(a, n, leaves, paths)
                             for a, n in zip(values, self.names, strict=True)])
        else:
            try:
                bound = self.signature.full.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}: {error}; its signature is {self.signature.full}"
                                ) from None
            bound.apply_defaults()
            treedef = tuple([flatten(a, n, leaves, paths) for n, a in bound.arguments.items()])
        if self.specs is not None:
            leaves = self._match(treedef, leaves, paths)
        return treedef, leaves, paths

    def sources(self, n: int, names: Sequence[str], treedef: Any) -> list[tuple[Any, Any, Any]]:
        """Return the sources of the parts of a call's skeleton: (position or name of the argument,
        None, part), or (None, default value, part). The call has `n` positional arguments."""
        if not names and self.signature.values((None,) * n) is not None:
            parts = treedef[0][-1] if self.signature.only_args else treedef
            return [(k, None, part) for k, part in enumerate(parts)]
        given = self.signature.full.bind(*range(n), **{name: name for name in names}).arguments
        found: list[Any] = []
        for p, part in zip(self.signature.full.parameters.values(), treedef, strict=True):
            if p.name not in given:
                if p.default is not p.empty:            # else empty *args or **kwargs
                    found.append((None, p.default, part))
            elif p.kind is p.VAR_POSITIONAL:
                found += [(k, None, s) for k, s in zip(given[p.name], part[-1], strict=True)]
            elif p.kind is p.VAR_KEYWORD:
                found += [(k, None, s) for k, s in zip(sorted(given[p.name]), part[-1],
                                                       strict=True)]
            else:
                found.append((given[p.name], None, part))
        return found

    def _as_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """Convert each list or number for which the signature has a tensor."""
        def convert(spec: Any, value: Any, name: str) -> Any:
            if isinstance(value, TensorSpec):
                return value
            if not isinstance(spec, TensorSpec):
                return value if current_graph() is None else self.signature.sized(value)
            if spec.dtype == "string":
                return late("string_tensor").text(value, name)
            given = isinstance(value, list | tuple | int | float)
            return as_tensor(value, spec.dtype, name) if given else value

        specs = tuple(self.given or ())
        names = [*self.names, *[self.names[-1]] * len(specs)] if self.names else []
        wanted = dict(zip(self.names, specs, strict=False))
        head = [convert(*one) for one in zip(specs, args, names, strict=False)]
        return (*head, *args[len(head):]), {n: convert(wanted.get(n), v, n)
                                            for n, v in kwargs.items()}

    def _match(self, treedef: Any, leaves: list[Any], paths: list[str]) -> list[Any]:
        """Check leaves against the input signature and return them converted."""
        if treedef != self.spec_skeleton:
            raise SignatureError(
                f"{self.name}: the arguments do not have the structure of the input_signature: got "
                f"leaves {', '.join(paths)}, expected {', '.join(self.spec_paths)}")
        assert self.specs is not None
        return [self._fit(*one) for one in zip(self.specs, leaves, paths, strict=True)]

    def _fit(self, spec: Any, x: Any, path: str) -> Any:
        if type(spec) is Fixed and StaticLeaf(spec.value) != leaf_key(x):
            raise SignatureError(f"{self.name}: argument {path} is {leaf_key(x)}, expected "
                                 f"{spec!r}, as in its input_signature")
        if not isinstance(spec, TensorSpec):
            return x
        if not isinstance(x, TensorBase | TensorSpec):
            weak = isinstance(x, float) or not is_numpy_scalar(x)
            x = as_tensor(x, spec.dtype if weak else None, path)
        elif isinstance(x, Variable):
            x = x.value()
        have = leaf_key(x)
        want = TensorLeaf(spec.dtype, required_shape(spec, have))
        if not want.matches(have):
            error = DTypeError if x.dtype is not spec.dtype else SignatureError
            raise error(f"{self.name}: argument {path} is {have}, expected {want}, as in its "
                        "input_signature")
        return x

    def call(self, function: Callable[..., Any], treedef: Any, leaves: list[Any]) -> Any:
        """Call a function with the structure of a skeleton and other leaves."""
        rest = iter(leaves)
        values = [rebuild(s, rest) for s in treedef]
        if self.simple or self.signature.only_args:
            return function(*(values if self.simple else values[0]))
        bound = self.signature.full.bind_partial()
        bound.arguments.update(zip(self.names, values, strict=True))
        return function(*bound.args, **bound.kwargs)


def same_but_sizes(mine: Any, other: Any) -> bool:
    """Return True if two leaf keys differ at most in sizes."""
    if isinstance(mine, TensorLeaf) and isinstance(other, TensorLeaf):
        return mine.dtype is other.dtype and len(mine.shape) == len(other.shape)
    return bool(mine.matches(other))


def as_input(x: Any, leaf: Any) -> Any:
    """Return a leaf of a call as a trace with this leaf key takes it."""
    if not isinstance(leaf, TensorLeaf):
        return x
    return x.value() if isinstance(x, Variable) else as_tensor(x, leaf.dtype) if (
        type(x) is int) else x
