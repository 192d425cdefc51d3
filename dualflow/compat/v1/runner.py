"""Runner: runs parts of a graph with the variables of one session.

The fast path of a run: the prepared run is looked up by the identity of fetches and feeds, and the
bound program by the shapes of the fed values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dualflow._core import (
    Executable,
    Symbol,
    Tensor,
    Variable,
    constant,
    current_graph,
    fed_tensors,
)
from dualflow.compat.v1 import errors
from dualflow.compat.v1.fetches import Fetches
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.programs import MAX_PROGRAMS, PartProgram, needed_for
from dualflow.compat.v1.tensor_methods import TensorMethods
from dualflow.compat.v1.value_sizes import numbers_in
from dualflow.compat.v1.variable_handle import VariableHandle
from dualflow.dtypes import DType
from dualflow.errors import DualflowError
from dualflow.graph.trace.trace import suspended
from dualflow.ops.array.creation import zeros

MAX_RUNS = 1024             # prepared runs; then all are dropped

NUMBERS = "biufc"           # kinds of NumPy's dtypes

Values = Callable[[list[Tensor]], list[Any]]


class Runner:
    """The variables and prepared runs of one session."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.closed = False
        self.variables: dict[VariableHandle, Variable] = {}
        self.initialized: set[VariableHandle] = set()
        self.runs: dict[Any, Any] = {}
        self.iterators: dict[Any, Any] = {}

    # --- variables ---

    def storage(self, variable: Any) -> Variable:
        """Return the Variable that holds the value of a variable in this session."""
        if not isinstance(variable, VariableHandle):
            return variable                 # an eager variable, shared by all sessions
        found = self.variables.get(variable)
        if found is None:
            with suspended():
                value = (zeros(variable.shape, variable.dtype) if variable.begin is None
                         else variable.begin())
                found = self.variables.setdefault(
                    variable, Variable(value, False, variable.name, variable.dtype))
            if variable.begin is not None:
                self.initialized.add(variable)
        return found

    def load(self, variable: VariableHandle, value: Any) -> None:
        """Assign a value to a variable."""
        with suspended():
            self.storage(variable).assign(constant(value, variable.dtype))
        self.initialized.add(variable)

    # --- runs ---

    def prepared(self, fetches: Any, feeds: Mapping[Any, Any] | None, values: Values) -> Run:
        """Return a run of these fetches with values for these tensors."""
        request = Fetches(self.graph, fetches)
        fed = [self._fed(key) for key in feeds or ()]
        drawn = self._drawn(request, fed) if self.graph.drawn else []
        fed += [x for one in drawn for x in one.outputs]
        in_python = request.in_python or any([isinstance(x, HostTensor) for x in fed])
        kind = HostRun if in_python else DrawnRun if drawn else Run
        return kind(self, request, fed, values, drawn)

    def _drawn(self, request: Fetches, fed: Sequence[Any]) -> list[Any]:
        """Return the dataset elements that the fetches need."""
        given = {x for x in fed if isinstance(x, Symbol)}
        nodes = [x.node if isinstance(x, Symbol) else x for x in request.wanted if x not in given]
        needed = needed_for(nodes, given)
        found, hosts = [], set(request.hosts)
        for one in reversed(self.graph.drawn):
            if any([x.op in needed or x in hosts for x in one.outputs]):
                found.append(one)
                hosts |= one.needs
        return found[::-1]

    def _fed(self, key: Any) -> Any:
        try:
            return self.graph.as_graph_element(key, True, False)
        except (TypeError, ValueError, KeyError) as error:
            reason = error.args[0] if error.args else error
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {reason}") from None

    def remembered(self, fetches: Any, feeds: Mapping[Any, Any] | None, values: Values) -> Run:
        """Return a prepared run and cache it. Nested lists and dicts are not cached."""
        run = self.prepared(fetches, feeds, values)
        if len(self.runs) >= MAX_RUNS:
            self.runs.clear()
        with suppress(TypeError):
            self.runs[key_of(fetches, feeds)] = run
        return run

    def tensors(self, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Return the results as Tensors."""
        try:
            run = self.runs[key_of(fetches, feeds)]
        except (KeyError, TypeError):
            run = self.remembered(fetches, feeds, list)
        return run(feeds.values() if feeds else ())


def key_of(fetches: Any, feeds: Mapping[Any, Any] | None) -> Any:
    """Return the cache key of a run: the identities of fetches and feeds."""
    request = (list, *fetches) if type(fetches) is list else fetches
    return (request, *feeds) if feeds else (request,)


class FeedConverter:
    """Converts the values fed for one tensor."""

    def __init__(self, x: Symbol) -> None:
        self.x = x
        self.dtype: DType = x.dtype

    def __call__(self, value: Any) -> Tensor:
        if isinstance(value, Symbol):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
                "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, "
                f"the tensor object was {value!r} which was passed to the feed with key {self.x!r}."
            )
        try:
            return constant(value, self.dtype, self.x.name)
        except DualflowError as error:
            return self.by_numpy(value, error)

    def by_numpy(self, value: Any, error: DualflowError) -> Tensor:
        """Convert a value with NumPy, as TensorFlow does: fractions are truncated, and values that
        are not numeric raise NumPy's errors."""
        import numpy as np

        if isinstance(value, int) and self.dtype.is_integer:
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor "
                f"type {self.dtype.name}. Try explicitly setting the type of the feed tensor to a "
                "larger type (e.g. int64).") from error
        try:
            array = np.asarray(value)
            if array.dtype.kind not in NUMBERS:
                np.asarray(value, self.dtype.as_numpy_dtype)
        except (TypeError, ValueError) as theirs:
            raise type(theirs)(
                f"{theirs} (fed for {self.x.name}, {self.dtype.name})") from error
        if array.dtype.kind not in NUMBERS:
            raise error
        return constant(array, self.dtype, self.x.name)

    def check(self, shape: Sequence[int]) -> None:
        """Raise FeedShapeError if the tensor cannot have this shape."""
        wanted = self.x.known_shape
        if not self.x.graph.specializations.knows_shape(self.x) or (len(wanted) == len(shape)
                                                                    and all(
                [n is None or n == m for n, m in zip(wanted, shape, strict=True)])):
            return
        if tuple(shape) == (1,) and self.x in self.x.graph.whole_shapes:
            return
        described = str(TensorMethods.get_shape(self.x))
        raise FeedShapeError(f"Cannot feed value of shape {tuple(shape)} for Tensor "
                             f"{self.x.name!r}, which has shape {described!r} (made at "
                             f"{self.x.node.line})")


class FeedShapeError(errors.InvalidArgumentError):
    """A value of the wrong shape is fed."""


class Bound:
    """A program bound to the variables of a session.

    Attributes
    ----------
    run : callable
        Function from the list of leaves to the list of results.
    """

    def __init__(self, runner: Runner, program: PartProgram) -> None:
        compiled = program.compiled
        self.runner = runner
        self.program = program
        self.executable: Executable = compiled.bound(runner.storage)
        in_order = compiled.order == list(range(len(compiled.order)))
        self.order: list[int] | None = None if in_order else compiled.order
        self.run: Callable[..., Any] = self.first

    def first(self, leaves: list[Tensor]) -> list[Tensor]:
        """Run for the first time: check that variables are initialized, and mark written ones."""
        runner, program = self.runner, self.program
        for slot, node in program.reads.items():
            if slot not in runner.initialized:
                raise errors.FailedPreconditionError(
                    f"Attempting to use uninitialized value {slot.name} (read by {node.name}, made "
                    f"at {node.line})", node)
        made = self.again(leaves)
        runner.initialized.update(program.writes)
        self.run = self.again if self.order else self.executable.run
        return made

    def again(self, leaves: list[Tensor]) -> list[Tensor]:
        """Run the program."""
        made = self.executable.run(leaves)
        return made if self.order is None else [made[k] for k in self.order]


class SizeDispatch:
    """Programs selected at run time by the values of tensors that are used as sizes.

    Attributes
    ----------
    run : callable
        Function from the list of leaves to the list of results.
    """

    def __init__(self, runner: Runner, graph: Any, wanted: Any, fed: Sequence[Symbol], shapes: Any,
                 sizes: Sequence[Symbol]) -> None:
        self.made_of: tuple[Any, ...] = runner, graph, wanted, fed, shapes
        place = {x: k for k, x in enumerate(fed)}
        self.given: list[int] = [place[x] for x in sizes if x in place]
        self.found: tuple[Symbol, ...] = tuple([x for x in sizes if x not in place])
        self.sizes: tuple[Symbol, ...] = (*[x for x in sizes if x in place], *self.found)
        self.before: Bound | SizeDispatch | None = bound_for(runner, graph, self.found, fed,
                                                             shapes) if self.found else None
        self.bound: dict[Any, Bound] = {}

    def run(self, leaves: list[Tensor]) -> list[Tensor]:
        """Compute the size values, then run the program for them."""
        return self.choose(leaves).run(leaves)

    def choose(self, leaves: list[Tensor]) -> Bound:
        """Return the program for the size values of this run."""
        tensors = [leaves[k] for k in self.given]
        if self.before is not None:
            tensors += self.before.run(leaves)
        values = tuple(map(numbers_in, tensors))
        bound = self.bound.get(values)
        if bound is None:
            runner, graph, wanted, fed, shapes = self.made_of
            if len(self.bound) >= MAX_PROGRAMS:
                self.bound.clear()
            chosen = tuple(zip(self.sizes, values, strict=True))
            bound = self.bound[values] = Bound(
                runner, graph.programs.get(wanted, fed, shapes, chosen))
        return bound


def bound_for(runner: Runner, graph: Any, wanted: Any, fed: Sequence[Symbol],
              shapes: Any) -> Bound | SizeDispatch:
    """Return the bound program that computes some tensors from feeds of these shapes."""
    if graph.every_value_size():
        sizes = graph.programs.sizes_for(wanted, fed)
        if sizes:
            return SizeDispatch(runner, graph, wanted, fed, shapes, sizes)
    return Bound(runner, graph.programs.get(wanted, fed, shapes))


class Run:
    """A prepared run of one set of fetches and one set of fed tensors."""

    def __init__(self, runner: Runner, request: Fetches, fed: Sequence[Any],
                 values: Values, drawn: Sequence[Any] = ()) -> None:
        self.runner = runner
        self.request = request
        self.drawn = drawn
        self.all_fed = list(fed)
        self.values = values
        self.pack: Callable[[list[Any]], Any] = request.packer()
        self.fed: tuple[Symbol, ...] = tuple([x for x in fed if isinstance(x, Symbol)])
        self.fits: list[FeedConverter] = [FeedConverter(x) for x in self.fed]
        self.dtypes: list[int] = [x.dtype.index for x in self.fed]
        self.is_first: bool = request.is_first      # the only fetch is the first value
        self.bound: dict[Any, Bound | SizeDispatch] = {}

    def __call__(self, fed: Collection[Any]) -> Any:
        """Return the results for the fed values, which are in the order of `fed`."""
        if current_graph() is not None:
            with suspended():
                return Run.__call__(self, fed)
        values = self.compute(fed)
        return values[0] if self.is_first else self.pack(values)

    def compute(self, fed: Collection[Any]) -> list[Any]:
        """Return the values of the tensors among the fetches."""
        try:
            leaves, shapes = fed_tensors(fed, self.dtypes, self.fits) if fed else ([], ())
            bound = self.bound.get(shapes)
            if bound is None:
                bound = self.bind(shapes)
            return self.values(bound.run(leaves))
        except DualflowError as error:
            raise errors.translated(error) from error.__cause__

    def with_drawn(self, fed: Collection[Any]) -> list[Any]:
        """Return the fed values followed by the dataset elements that this run draws."""
        values = list(fed)
        given = dict(zip(self.all_fed, values, strict=False))
        for one in self.drawn:
            try:
                found = one.values(self.runner, given)
            except DualflowError as error:
                raise errors.translated(error) from error.__cause__
            given.update(zip(one.outputs, found, strict=True))
            values += found
        return values

    def bind(self, shapes: Any) -> Bound | SizeDispatch:
        """Return the program for these shapes, after checking them."""
        for fit, shape in zip(self.fits, shapes, strict=True):
            fit.check(shape)
        graph, wanted, fed = self.runner.graph, self.request.wanted, self.fed
        if graph.unranked:
            graph, wanted, fed = graph.specializations.fitting(wanted, fed, shapes)
        if len(self.bound) >= MAX_PROGRAMS:
            self.bound.clear()
        bound = self.bound[shapes] = bound_for(self.runner, graph, wanted, fed, shapes)
        return bound


class DrawnRun(Run):
    """A run that draws elements of datasets."""

    def __call__(self, fed: Collection[Any]) -> Any:
        with suspended():
            return super().__call__(self.with_drawn(fed))


class HostRun(Run):
    """A run with tensors that Python computes or that are fed to Python."""

    def __init__(self, runner: Runner, request: Fetches, fed: Sequence[Any],
                 values: Values, drawn: Sequence[Any] = ()) -> None:
        super().__init__(runner, request, fed, values, drawn)
        self.is_host: list[bool] = [isinstance(x, HostTensor) for x in fed]
        self.hosts: list[HostTensor] = [x for x in fed if isinstance(x, HostTensor)]

    def __call__(self, fed: Collection[Any]) -> Any:
        with suspended():
            given = list(zip(self.is_host, self.with_drawn(fed), strict=True))
            values = self.compute([x for host, x in given if not host])
            texts = [x for host, x in given if host]
            return self.request.pack(self.runner, values, dict(zip(self.hosts, texts, strict=True)))
