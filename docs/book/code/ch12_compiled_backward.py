"""The code of docs/book/ch12_compiled_backward.md, from which docs/ext/book.py writes this file."""

from ch01_tensors import Operation
from ch02_tape import PARAMETER, GradientTape, Graph, ones_like, propagate
from ch03_training import RATE, loss_of, step, step_arguments
from ch05_passes import dead_code
from ch06_memory import planned
from ch07_executor import in_c, seconds_per_step


def signature_of(records, target, sources):
    """Return the signature of a tape, and its tensors in the order of their numbers."""
    numbers, values = {}, []

    def number(x):
        if id(x) not in numbers:
            numbers[id(x)] = len(values)
            values.append(x)
        return numbers[id(x)]

    words = [(record.op.name, tuple(map(number, record.inputs)), tuple(map(number, record.outputs)),
              tuple(sorted(record.attributes.items()))) for record in records]
    words.append((number(target), *map(number, sources)))
    return (*words, tuple(x.shape for x in values)), values


class BackwardProgram:
    """The compiled backward pass for a signature."""

    def __init__(self, records, target, sources, values):
        graph = Graph()
        with graph:
            symbols = {id(x): graph.parameter(x.shape) for x in values}
            found = propagate([replaced(record, symbols) for record in records],
                              {id(symbols[id(target)]): ones_like(target)},
                              [symbols[id(x)] for x in sources])
            graph.outputs = [graph.as_symbol(g) for g in found if g is not None]
        self.is_connected = [g is not None for g in found]
        graph = dead_code(graph)
        read = {x for operation in graph.operations for x in operation.inputs} | {*graph.outputs}
        self.residuals = [k for k, x in enumerate(graph.inputs) if x in read]
        graph.operations = [operation for operation in graph.operations
                            if operation.op is not PARAMETER or operation.outputs[0] in read]
        graph.inputs = [x for x in graph.inputs if x in read]
        self.graph = graph
        try:
            self.program = in_c(graph)
        except NotImplementedError:                     # an op without a kernel in C
            self.program = planned(graph)

    def run(self, values):
        """Return the gradients for the tensors of a tape, or None for unconnected sources."""
        gradients = iter(self.program(*[values[k] for k in self.residuals]))
        return [next(gradients) if connected else None for connected in self.is_connected]


def replaced(record, symbols):
    """Return a tape record with symbols instead of its tensors."""
    copy = Operation(record.op, [symbols[id(x)] for x in record.inputs], record.attributes)
    copy.outputs = [symbols[id(y)] for y in record.outputs]
    return copy


COMPILE_AFTER = 3           # interpreted runs of one signature
CACHE_SIZE = 64             # signatures

cache = {}                  # from signatures to [interpreted runs, program or None]


class CompilingTape(GradientTape):
    """A tape that computes gradients by a program once its signature is known."""

    def gradient(self, target, sources):
        signature, values = signature_of(self.records, target, sources)
        entry = cache.pop(signature, [0, None])
        cache[signature] = entry                        # now the most recent one
        if len(cache) > CACHE_SIZE:
            del cache[next(iter(cache))]
        if entry[1] is not None:
            return entry[1].run(values)
        entry[0] += 1
        if entry[0] == COMPILE_AFTER:
            entry[1] = BackwardProgram(self.records, target, sources, values)
        return super().gradient(target, sources)


def compiling_step(x, labels, *parameters):
    """The training step of chapter 3 with a compiling tape."""
    with CompilingTape() as tape:
        loss = loss_of(x, labels, *parameters)
    gradients = tape.gradient(loss, parameters)
    return [loss, *[p - RATE * g for p, g in zip(parameters, gradients, strict=True)]]


if __name__ == "__main__":
    arguments = step_arguments(hidden=64)
    interpreted = seconds_per_step(step, arguments)
    compiled = seconds_per_step(compiling_step, arguments)
    print(f"interpreted backward pass: {interpreted * 1e6:.0f} us per step")
    print(f"compiled backward pass:    {compiled * 1e6:.0f} us per step")
