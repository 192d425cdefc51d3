"""The interpreter of serialised traces: applies their ops, one by one, to the arguments of a call.

While a function is traced, the interpreter records the ops in the new trace, with unknown sizes and
with gradients. It runs none of the code from which the trace was made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dualflow import dtypes
from dualflow._core import (
    Dim,
    Symbol,
    Variable,
    apply,
    as_tensor,
    constant,
    current_graph,
    dim_value,
    exactly_equal,
    get_op,
    larger,
    smaller,
)
from dualflow.errors import InvalidArgumentError
from dualflow.graph.trace.record_loop import record_loop
from dualflow.graph.trace.without_gradient import without_gradient
from dualflow.io.checks import check
from dualflow.ops.array.join import stack
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.printing import printing
from dualflow.ops.string_tensor import StringTensor


class OtherSizes(InvalidArgumentError):
    """A decision of the traced Python code would differ for the sizes of this call."""


class TraceInterpreter:
    """One execution of a serialised trace.

    Parameters
    ----------
    name : str
    graphs : list
        See `SerializedTrace`.
    saved : mapping of str to Variable, Tensor or Generator
    leaves : sequence
        The arguments.
    """

    name: str
    graphs: list[Any]
    saved: Mapping[str, Any]
    leaves: Sequence[Any]

    def __init__(self, name: str, graphs: list[Any], saved: Mapping[str, Any],
                 leaves: Sequence[Any]) -> None:
        self.name, self.graphs, self.saved, self.leaves = name, graphs, saved, leaves
        self.values: dict[int, Any] = {}
        self.variables: dict[int, Variable] = {}        # by the numbers of their versions
        self.numbers: dict[int, tuple[Any, str]] = {}
        self.sized: list[dict[int, int]] = []   # per open body: inputs by value with their sizes

    def run(self) -> list[Any]:
        """Execute the trace and return its outputs."""
        self.play(len(self.graphs) - 1)
        return self.outputs(len(self.graphs) - 1)

    def play(self, k: int) -> None:
        """Execute graph `k`. Calls do not use recursion, since they may be deeply nested."""
        inside: list[tuple[Iterator[Any], Callable[[], None]]] = [
            (iter(self.graphs[k][3]), lambda: None)]
        while inside:
            steps, leave = inside[-1]
            for kind, *step in steps:
                if kind == "call":
                    xs, ys, written, body, why = step
                    self.enter(body, xs)
                    inside.append((iter(self.graphs[body][3]), functools.partial(
                        self.leave_call, ys, written, body, why)))
                    break
                getattr(self, f"play_{kind}")(*step)
            else:
                leave()
                inside.pop()

    # --- values ---

    def value(self, x: int) -> Any:
        """Return a value; numbers are computed on use, since they may depend on sizes there."""
        if x in self.numbers:
            dim, dtype = self.numbers[x]
            return as_tensor(self.dim(dim), dtypes.as_dtype(dtype))
        return self.values[x]

    def outputs(self, k: int) -> list[Any]:
        """Return the outputs of graph `k`, without versions of variables."""
        ys, n_versions = self.graphs[k][1:3]
        return [self.value(y) for y in ys[:len(ys) - n_versions]]

    def bind(self, y: int, variable: Variable) -> None:
        """Make a value the current version of a variable."""
        self.variables[y], self.values[y] = variable, variable.value()

    def enter(self, body: int, xs: Sequence[int], given: Mapping[int, Any] | None = None) -> None:
        """Bind the inputs of a body; `given`: values of some inputs, by index."""
        given = given or {}
        for k, (inner, x) in enumerate(zip(self.graphs[body][0], xs, strict=True)):
            if k in given:
                self.values[inner] = given[k]
            elif x in self.variables:
                self.bind(inner, self.variables[x])
            elif x in self.numbers:
                self.numbers[inner] = self.numbers[x]
            else:
                self.values[inner] = self.values[x]
        self.sized.append({y: inner for inner, y in self.graphs[body][4]})

    def inside(self, body: int, xs: Sequence[int],
               given: Mapping[int, Any] | None = None) -> list[Any]:
        """Execute a body and return its outputs."""
        self.enter(body, xs, given)
        self.play(body)
        outputs = self.outputs(body)
        self.sized.pop()
        return outputs

    def dim(self, x: Any) -> Any:
        """Return a number that may depend on sizes."""
        if not isinstance(x, list):
            return x
        values: list[Any] = []
        for op, operands in x:
            args = [values[a[1]] if isinstance(a, list) else a for a in operands]
            if op == "argument":
                values.append(self.leaves[args[0]])
            elif op == "size":
                values.append(self.measured(args[0]).shape[args[1]])
            elif op == "element":
                values.append(element(self.measured(args[0]), *args[1:]))
            else:
                compute = COMPUTED.get(op)
                values.append(dim_value(op, *args) if compute is None else compute(*args))
        return values[-1]

    def measured(self, x: int) -> Any:
        """Return the value with the sizes of `x`: an input of an open body, or `x` itself."""
        return self.value(next((sized[x] for sized in reversed(self.sized) if x in sized), x))

    # --- steps ---

    def play_argument(self, y: int, leaf: int) -> None:
        self.values[y] = as_tensor(self.leaves[leaf])

    def play_constant(self, y: int, name: str) -> None:
        found = self.saved[name]
        self.values[y] = found._handles if isinstance(found, StringTensor) else found

    def play_variable(self, y: int, name: str) -> None:
        self.bind(y, self.saved[name])

    def play_key(self, y: int, name: str) -> None:
        self.values[y] = self.saved[name].next_key()

    def play_number(self, y: int, dim: Any, dtype: str) -> None:
        self.numbers[y] = dim, dtype

    def play_guard(self, op: str, args: Sequence[Any], answer: Any, line: str) -> None:
        if not exactly_equal(dim_value(op, *[self.dim(a) for a in args]), answer):
            raise OtherSizes(f"{self.name}: its Python code decided by sizes at {line}, and would "
                             "decide otherwise by these; trace the function for such sizes before "
                             "it is saved")

    def play_op(self, xs: Sequence[int], ys: Sequence[int], written: Sequence[Any], op: str,
                attributes: Mapping[str, Any]) -> None:
        writes = get_op(op).writes
        given = [self.variables[x] if writes >> k & 1 else self.value(x)
                 for k, x in enumerate(xs)]
        made = apply(op, *given, **self.attributes(attributes))
        outputs = made if isinstance(made, tuple) else (made,)
        self.leave(ys, outputs, written)

    def play_print(self, xs: Sequence[int], printed: list[Any]) -> None:
        host_call(printing(*printed), [self.value(x) for x in xs], "print")

    def play_check(self, xs: Sequence[int], said: list[Any]) -> None:
        host_call(check(*said), [self.value(x) for x in xs], "assert")

    def attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of an op."""
        return {key: tuple([self.dim(v) for v in value["all"]]) if isinstance(value, dict)
                else self.dim(value) for key, value in given.items()}

    def leave(self, ys: Sequence[int], outputs: Sequence[Any], written: Sequence[Any]) -> None:
        """Store the outputs of a step."""
        self.values.update(zip(ys, outputs, strict=False))
        for before, after in written:
            self.bind(after, self.variables[before])

    def leave_call(self, ys: Sequence[int], written: Sequence[Any], body: int,
                   why: str | None) -> None:
        outputs = self.outputs(body)
        self.sized.pop()
        if why is not None:
            outputs = [without_gradient(y, f"{self.name}: {why}, and was not saved")
                       for y in outputs]
        self.leave(ys, outputs, written)

    def play_cond(self, xs: Sequence[int], ys: Sequence[int], written: Sequence[Any],
                  bodies: Sequence[int]) -> None:
        index, graph = self.value(xs[0]), current_graph()
        if graph is None or type(index) is not Symbol:
            k = int(index)
            made = self.inside(bodies[k if 0 <= k < len(bodies) else -1], xs)
        else:
            made = graph.cond(index, [
                functools.partial(self.inside, body, xs) for body in bodies], "cond")
        self.leave(ys, made, written)

    def play_loop(self, xs: Sequence[int], ys: Sequence[int], written: Sequence[Any], body: int,
                  attributes: Mapping[str, Any], rounds: Sequence[Any]) -> None:
        given = self.attributes(attributes)
        n, tested, times = given["n_carried"], given["tested"], given["times"]
        limited = not isinstance(times, Dim) and times < 0
        first = limited + tested
        last = first + n + given["n_sliced"]
        inputs = [self.value(x) for x in xs[:last]]

        def round(*values: Any) -> list[Any]:
            return self.inside(body, xs, dict(enumerate(values, first)))

        graph = current_graph()
        play = run_loop if graph is None else functools.partial(record_loop, graph, rounds)
        self.leave(ys, play(round, inputs, first, given), written)


def run_loop(round: Callable[..., list[Any]], inputs: Sequence[Any], first: int,
             given: dict[str, Any]) -> list[Any]:
    """Run a loop eagerly. Rows of different shapes are a list, read only by a backward loop."""
    n, tested, times = given["n_carried"], int(given["tested"]), given["times"]
    if times < 0:
        times = int(inputs[0])
    keep_going, carried, rows = not tested or bool(inputs[first - 1]), inputs[first:first + n], \
        inputs[first + n:]
    if rows:
        times = min(times, len(rows[0]))
    made: list[Any] = []
    k = 0
    while keep_going and k < times:
        at = times - 1 - k if given["reverse"] else k
        outputs = round(*carried, *[x[at] for x in rows])
        keep_going = not tested or bool(outputs[0])
        carried = outputs[tested:tested + n]
        made.append(outputs[tested + n:])
        k += 1
    stacked = [ys if k in given["packed"] else stack(ys) for k, ys in enumerate(
        zip(*(made[::-1] if given["reverse"] else made), strict=True))]
    return [*carried, *[constant(k, dtypes.int64)] * tested, *stacked]


def element(x: Any, *at: int) -> Any:
    """Return an element of an integer tensor that depends on sizes."""
    if type(x) is Symbol:
        return x.graph.dims_of(x)[at[0]] if at else x.graph.dim_of(x)
    return (x[at[0]] if at else x).item()


COMPUTED = {"max": larger, "min": smaller}
