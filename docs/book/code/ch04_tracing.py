"""The code of docs/book/ch04_tracing.md, from which docs/ext/book.py writes this file."""

import functools

from ch01_tensors import Tensor, as_tensor, interpreters
from ch02_tape import CONSTANT, Graph, Session
from ch03_training import generate, step, train


def trace(python_function, arguments):
    """Return the graph of a call. Arguments that are not tensors keep their values."""
    with Graph() as graph:
        inputs = [graph.parameter(x.shape) if isinstance(x, Tensor) else x for x in arguments]
        outputs = python_function(*inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        graph.outputs = [graph.as_symbol(as_tensor(y)) for y in outputs]
    return graph


def text(graph):
    """Return the printed form of a graph."""
    names, lines = {}, []
    for operation in graph.operations:
        attributes = dict(operation.attributes)
        if operation.op is CONSTANT:
            value = attributes["value"].data
            attributes["value"] = value.tolist() if value.size < 5 else "..."
        arguments = [names[x] for x in operation.inputs]
        arguments += [f"{key}={value}" for key, value in attributes.items()]
        for y in operation.outputs:
            names[y] = f"%{len(names)}"
        results = ", ".join(names[y] for y in operation.outputs)
        shapes = ", ".join(str(y.shape) for y in operation.outputs)
        lines.append(f"{results} = {operation.op.name}({', '.join(arguments)}) : {shapes}")
    return "\n".join([*lines, "return " + ", ".join(names[y] for y in graph.outputs)])


def state_of(python_function):
    """Return the names and values of the global numbers in the code of a function."""
    code = getattr(python_function, "__code__", None)
    names = code.co_names if code else ()
    return tuple((name, python_function.__globals__[name]) for name in names
                 if isinstance(python_function.__globals__.get(name), (int, float)))


def run_in_session(graph):
    """Return a function that runs a graph."""
    def program(*tensors):
        return Session().run(graph.outputs, dict(zip(graph.inputs, tensors, strict=True)))
    return program


class Function:
    """A Python function of tensors that is traced for each key, and then runs as a program.

    `build` makes a program from a graph: a function from tensors to a list of tensors.
    """

    def __init__(self, python_function, build=run_in_session):
        self.python_function, self.build = python_function, build
        self.programs = {}
        functools.update_wrapper(self, python_function)

    def __call__(self, *arguments):
        if len(interpreters) > 1:                   # a tape or a graph records this call
            return self.python_function(*arguments)
        key = (tuple((x.shape,) if isinstance(x, Tensor) else x for x in arguments),
               state_of(self.python_function))
        if key not in self.programs:
            self.programs[key] = self.build(trace(self.python_function, arguments))
        results = self.programs[key](*[x for x in arguments if isinstance(x, Tensor)])
        return results[0] if len(results) == 1 else results


def function(python_function, build=run_in_session):
    """Return a function that is traced once for each key."""
    return Function(python_function, build)


if __name__ == "__main__":
    images, labels = generate(300)
    eager, _ = train(images, labels, epochs=1, hidden=8)
    traced_step = function(step)
    traced, _ = train(images, labels, epochs=1, hidden=8, step=traced_step)
    print("bit-identical:", all(p.data.tobytes() == q.data.tobytes()
                                for p, q in zip(eager, traced, strict=True)))
    print("traces:", len(traced_step.programs))
