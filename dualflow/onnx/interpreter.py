"""Interpreter of ONNX graphs: nodes are prepared once and run in order, op by op.

While Python is traced, sizes that may change are object arrays of Python numbers, which `ON_SIZES`
computes with until an operator needs a tensor. Nodes of constant inputs are computed at once.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial

from dualflow._core import Dim, Symbol, Variable, as_tensor, constant, current_graph
from dualflow.dtypes import DType, int64
from dualflow.errors import DualflowError, InvalidArgumentError, UnimplementedError
from dualflow.graph.ir import CONSTANT, Weight
from dualflow.graph.trace.trace import suspended
from dualflow.onnx.fold import fold, lay_out
from dualflow.onnx.importers import DRAWS, ON_SIZES, OPERATORS
from dualflow.onnx.importers.registry import Node, in_float32, limits_of
from dualflow.onnx.narrow import MOVES, NarrowTensor, NarrowType, moved
from dualflow.onnx.package import attribute_name, dtype_of
from dualflow.onnx.proto import FunctionProto, read as read_message
from dualflow.onnx.quantized import integer_products
from dualflow.onnx.schemas import (
    check,
    composed,
    defaults,
    is_composed,
    unknown_attributes,
    wrong,
)
from dualflow.onnx.weights import to_dense, to_tensor
from dualflow.ops.array.join import stack
from dualflow.ops.elementwise.cast import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STANDARD = ("", "ai.onnx")
# Errors caused by inconsistent attributes in a file: short lists, indices out of range.
MISTAKES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
MAX_BODIES = 512                    # prepared function bodies by input shapes


class Library:
    """The functions of a file and the versions of the operator sets that its nodes use.

    `folder` is the directory of the file, or None if the model is not a file.
    """

    def __init__(self, model: Any, folder: str | None) -> None:
        self.folder = folder
        self.versions: dict[str, Any] = {_domain(o.domain): o.version for o in model.opset_import}
        functions = [read_message(FunctionProto, f) for f in model.functions]
        self.functions: dict[tuple[str, Any], Any] = {(_domain(f.domain), f.name): f
                                                      for f in functions}
        self.missing: Counter[str] = Counter()
        self.bodies: dict[Any, Body] = {}

    def within(self, function: Any) -> Library:
        """Return the library for the nodes of a function, which has its own versions."""
        inner = object.__new__(Library)
        inner.__dict__.update(self.__dict__)
        inner.versions = {**self.versions,
                          **{_domain(o.domain): o.version for o in function.opset_import}}
        return inner


def _domain(name: str) -> str:
    return "" if name in STANDARD else name


class Body:
    """A graph, or the body of a function, prepared to run.

    Attributes
    ----------
    inputs, outputs : list of str
    constants : dict of str to Tensor, Variable or Weight
        The initializers.
    nodes : list of Node
    """

    library: Library
    function: bool

    def __init__(self, graph: Any, library: Library, function: bool = False,
                 attrs: Mapping[str, Any] | None = None, around: Iterable[str] = ()) -> None:
        self.library, self.function = library, function
        self.inputs: list[Any] = list(graph.input) if function else [i.name for i in graph.input]
        self.outputs: list[Any] = list(graph.output) if function else [o.name for o in graph.output]
        self.types: dict[Any, DType | NarrowType | None] = {} if function else {
            o.name: dtype_of(o.type.tensor_type.elem_type) for o in graph.output}
        self.constants: dict[str, Any] = {}
        if not function:
            self.constants |= {t.name: to_tensor(t, library.folder) for t in graph.initializer}
            self.constants |= {t.values.name: to_dense(t, library.folder)
                               for t in graph.sparse_initializer}
        own = {*self.inputs, *self.constants}
        known = {"", *around, *own}
        self.nodes: list[Node] = []
        for proto in graph.node:
            self.nodes.append(node := self._node(proto, attrs or {}, known))
            again = [y for y in node.outputs if y in own]
            if again:
                raise wrong(node, f"there is another {again[0]!r}")
            own.update([y for y in node.outputs if y])
            known.update(node.outputs)
        lost = [name for name in self.outputs if not name or name not in known]
        if lost and not function:       # a function may leave optional outputs undefined
            raise InvalidArgumentError(f"onnx.load: no node makes the output {lost[0]!r}")
        self.nodes = fold(self.nodes, self._read_elsewhere)

    def lay_out(self) -> None:
        """Change constants to the layout of dualflow's operators, and products of dequantized
        integers to products of integers; no constant may be trained."""
        self.nodes = integer_products(self.nodes, self.constants, self._read_elsewhere)
        self.nodes = lay_out(self.nodes, self.constants, self._read_elsewhere)

    def _read_elsewhere(self) -> Iterator[str]:
        """Yield names that are read other than as inputs of this graph's nodes."""
        yield from self.outputs
        for node in self.nodes:
            for value in node.attrs.values():
                if isinstance(value, Body):
                    yield from value._read_elsewhere()
                    yield from [x for inner in value.nodes for x in inner.inputs]
            if node.kind in SCOPED:     # Gradient, by its attributes
                yield from [*node.attrs.get("xs", []), *node.attrs.get("zs", [])]

    def _node(self, proto: Any, given: Mapping[str, Any], known: set[str]) -> Node:
        domain = _domain(proto.domain)
        kind = f"{domain}:{proto.op_type}" if domain else proto.op_type
        attrs: dict[str, Any] = {}
        for a in proto.attribute:
            if not a.ref_attr_name:
                attrs[a.name] = self._attribute(a, known)
            elif a.ref_attr_name in given:
                attrs[a.name] = given[a.ref_attr_name]
        node = Node(kind, attrs, self.library.versions.get(domain, 1), list(proto.input),
                    list(proto.output))
        node.body = self
        lost = [name for name in node.inputs if name not in known]
        if lost:
            raise wrong(node, f"no node before it makes its input {lost[0]!r}")
        own = (domain, proto.op_type) in self.library.functions
        if is_composed(node):
            node.wire = bytes(proto.wire)
        elif kind not in OPERATORS and not own:
            self.library.missing[kind] += 1
            return node
        limits = [*limits_of(node)] if own else [*unknown_attributes(node), *limits_of(node)]
        self.library.missing.update([f"{kind} {limit}" for limit in limits])
        if not own:
            check(node, {a.name: a.type for a in proto.attribute if not a.ref_attr_name})
        return node

    def _attribute(self, a: Any, known: set[str]) -> Any:
        kind, folder = attribute_name(a.type), self.library.folder
        if kind == "TENSOR":
            return to_tensor(a.t, folder)
        if kind == "GRAPH":
            return Body(a.g, self.library, around=known)
        if kind == "SPARSE_TENSOR":
            return to_dense(a.sparse_tensor, folder)
        if kind == "STRING":
            return a.s.decode(errors="replace")
        if kind == "STRINGS":
            return [s.decode(errors="replace") for s in a.strings]
        if kind in ("INTS", "FLOATS"):
            return list(a.ints if kind == "INTS" else a.floats)
        return a.i if kind == "INT" else a.f if kind == "FLOAT" else None

    # --- running ---

    def run(self, given: Sequence[Any], scope: Mapping[str, Any] | None = None) -> list[Any]:
        """Return the outputs for positional inputs; `scope` holds the values of enclosing
        graphs."""
        values: Any = ChainMap({}, self.constants, scope or {})     # type: ignore[arg-type]
        graph = current_graph()
        values.update([(name, x.tensor() if graph is None
                        else graph.leaf(CONSTANT, x, x.shape, x.shape, x, None, None))
                       for name, x in self.constants.items() if type(x) is Weight])
        values.update(dict.fromkeys(self.inputs[len(given):]) if self.function else {})
        values.update(zip(self.inputs, given, strict=False))
        self._run_all(self.nodes, values)
        if self.function:               # a function may leave optional outputs undefined
            return [values.get(name) for name in self.outputs]
        return [read(values, name) for name in self.outputs]

    def value_of(self, name: str, given: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
        """Return a value recomputed from `given` by the nodes it depends on; others are in
        `scope`."""
        needed, chosen = {name}, []
        for node in reversed(self.nodes):
            if not needed.isdisjoint(node.outputs):
                chosen.append(node)
                needed.update([x for x in node.inputs if x not in given])
        values: Any = ChainMap({}, dict(given), scope)      # type: ignore[arg-type]
        self._run_all(reversed(chosen), values)
        return read(values, name)

    def _run_all(self, nodes: Iterable[Node], values: Any) -> None:
        for node in nodes:
            inputs = [read(values, x) if x else None for x in node.inputs]
            try:
                made = self._run(node, inputs, values)
            except DualflowError:
                raise
            except MISTAKES as error:
                raise wrong(node, f"its inputs and attributes are incompatible: {error}") from error
            values.update((name, y) for name, y in zip(node.outputs, made, strict=False) if name)

    def _run(self, node: Node, inputs: list[Any], scope: Any) -> Sequence[Any]:
        traced = current_graph() is not None
        if traced and any([is_sizes(x) for x in inputs]):
            if node.kind in ON_SIZES and all([x is None or known(x) for x in inputs]):
                return _listed(ON_SIZES[node.kind](node, *inputs))
            inputs = [x if k in TAKES_SIZES.get(node.kind, ()) else materialised(x)
                      for k, x in enumerate(inputs)]
        elif traced and node.kind in FIXED and all([x is None or constant_now(x)
                                                    for x in inputs]):
            with suspended():
                return self._computed(node, inputs, scope)
        return self._computed(node, inputs, scope)

    def _computed(self, node: Node, inputs: list[Any], scope: Any) -> Sequence[Any]:
        function = OPERATORS.get(node.kind)
        if function is None and node.kind in COMPOSED_IN_FLOAT32:
            return in_float32(lambda *xs: self._function(node, list(xs)).run(xs))(*inputs)
        if function is None:
            return self._function(node, inputs).run(inputs)
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        if node.kind in SCOPED:
            node = copy(node)           # several threads run the same nodes
            node.scope = scope
        narrow = next((x.dtype for x in inputs if isinstance(x, NarrowTensor)), None)
        if narrow is not None and node.kind in MOVES:
            return moved(partial(function, node), narrow, inputs)
        return _listed(function(node, *inputs))

    def _function(self, node: Node, inputs: list[Any]) -> Body:
        """Return the body of a function of the file or of an operator that the standard
        composes."""
        domain, _, name = node.kind.rpartition(":")
        own = self.library.functions.get((domain, name))
        given = [None if x is None else materialised(x) for x in inputs]
        types = tuple([None if x is None else (x.dtype, _sizes_of(x)) for x in given])
        key = (id(node), types)
        if key not in self.library.bodies:
            if len(self.library.bodies) >= MAX_BODIES:
                self.library.bodies.clear()
            body = own or composed(node, types)
            given_by_default = {a.name: self._attribute(a, set()) for a in body.attribute_proto}
            if own is None:
                given_by_default |= defaults(node)
            self.library.bodies[key] = Body(body, self.library.within(body), True,
                                            {**given_by_default, **node.attrs})
            if self.library.missing:
                raise unsupported(self.library)
        return self.library.bodies[key]


# Operators that read values of enclosing graphs: they have graphs as attributes, or are Gradient.
SCOPED = {"If", "Loop", "Scan", "SequenceMap", "ai.onnx.preview.training:Gradient"}
# Operators that are evaluated at once on constants; composed operators contain them.
FIXED = OPERATORS.keys() - SCOPED - DRAWS
# Composed operators whose formula in the standard computes in the dtype of the input.
COMPOSED_IN_FLOAT32 = {"GroupNormalization", "MeanVarianceNormalization"}
# Positions of inputs that are read as integers, so that they may be arrays of Python numbers.
TAKES_SIZES: dict[str, tuple[int, ...]] = {
    "Reshape": (1,), "Expand": (1,), "Tile": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 3),
    "ConstantOfShape": (0,), "Split": (1,), "Resize": (3,), "Squeeze": (1,), "Unsqueeze": (1,),
    "Range": (0, 1, 2), "OneHot": (1,), "TopK": (1,), "CenterCropPad": (1,), "Trilu": (1,),
    "EyeLike": ()}


def _listed(made: Any) -> Sequence[Any]:
    return made if isinstance(made, list | tuple) else [made]


def read(values: Mapping[str, Any], name: str) -> Any:
    """Return a value by name; raise if its node left the output undefined."""
    if name not in values:
        raise InvalidArgumentError(f"onnx.load: {name!r} is read, but its node does not make it")
    return values[name]


def is_sizes(x: Any) -> bool:
    """Return True if a value is an object array of Python numbers."""
    return getattr(getattr(x, "dtype", None), "char", "") == "O"


def constant_now(x: Any) -> bool:
    """Return True if a value is the same in all runs."""
    if isinstance(x, list):             # a sequence
        return all([constant_now(y) for y in x])
    x = x.values if isinstance(x, NarrowTensor) else x
    return not isinstance(x, Symbol | Variable) and not is_sizes(x)


def known(x: Any) -> bool:
    """Return True if a value can be used in the computation of sizes."""
    return is_sizes(x) or (constant_now(x) and not x.dtype.is_floating)


def materialised(x: Any) -> Any:
    """Return a value as a tensor."""
    if not is_sizes(x):
        return x
    flat = [as_tensor(n, int64) if isinstance(n, Dim) else constant(int(n), int64)
            for n in x.ravel().tolist()]
    if x.ndim == 0:
        return cast(flat[0], int64)
    y = stack([cast(n, int64) for n in flat]) if flat else constant([], int64)
    return OPERATORS["Reshape"](Node("Reshape", {}, 14, [], []), y, list(x.shape))


def _sizes_of(x: Any) -> tuple[int | None, ...]:
    x = x.values if isinstance(x, NarrowTensor) else x
    return x.known_shape if isinstance(x, Symbol) else tuple(x.shape)


def unsupported(library: Library) -> UnimplementedError:
    """Return the error that lists all unsupported operators."""
    listed = ", ".join(sorted([f"{kind} ({n})" for kind, n in library.missing.items()]))
    return UnimplementedError(f"onnx.load: operators that are not supported: {listed}")
