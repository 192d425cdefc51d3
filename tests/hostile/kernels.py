"""Calls each kernel with invalid attributes and inputs: `python -m tests.hostile.kernels`.

Valid calls come from the rows of the op table: traced with their gradients, each node is a call. In
each call, one to three attributes or inputs are replaced. The call may then return a result or
raise, and a trace for unknown sizes must do the same."""

import argparse
import faulthandler
import os
import random
import resource
import signal
import sys
from pathlib import Path

import numpy as np

import dualflow as df
from dualflow import _core
from dualflow.errors import DualflowError
from tests.hostile.public import SECONDS, check_usable, give_up
from tests.ops import harness
from tests.ops.cases import CASES
from tests.ops.test_traced import bits, calling, leaves

MEMORY = 512 << 20                # more than any call that should succeed needs
INTEGERS = [0, 1, 2, 3, 4, 5, 7, -1, -2, -7, 255, 256, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**52,
            2**60, 2**61, 2**62, 2**63 - 1, -2**31, -2**62, -2**63]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, float("inf"), -float("inf"), float("nan")]
DTYPES = [df.float32, df.float64, df.float16, df.int32, df.int64, df.uint8, df.bool_]
OTHER_THAN_DATA = {"parameter", "constant", "variable"}


def known_calls():
    """Return valid calls by op: (shape, dtype) of the inputs, and attributes."""
    found = {}
    for case in CASES:
        args = harness.make(case, case.dtypes[0])
        tensors = leaves(args)
        graph = df.function(calling(case, args, len(tensors)), passes=False).graph_for(*tensors)
        for node in graph.nodes:
            op = node.op
            if op.name in OTHER_THAN_DATA or op.internal or op.writes or node.bodies or op.effect:
                continue
            if all(None not in v.shape for v in node.inputs):
                attrs = () if node.attrs is None else node.attrs.values
                call = [(v.shape, v.dtype) for v in node.inputs], list(attrs)
                found.setdefault(op.name, []).append(call)
    return found


def hostile_attribute(rng, kind, value):
    if kind == "ints":
        value = list(value)
        change = rng.choice(["one", "one", "all", "longer", "shorter"])
        if change == "one" and value:
            value[rng.randrange(len(value))] = rng.choice(INTEGERS)
        elif change == "all":
            value = [rng.choice(INTEGERS) for _ in value]
        elif change == "longer":
            value += [rng.choice(INTEGERS)] * rng.choice([1, 1, 2, 300])
        else:
            del value[:rng.choice([1, 1, len(value)])]
        return value
    if kind == "float":
        return rng.choice(FLOATS)
    if kind == "dtype":
        return rng.choice(DTYPES)
    return rng.choice(INTEGERS)


def hostile_input(rng, shape, dtype):
    shape = list(shape)
    change = rng.choice(["size", "size", "empty", "rank", "dtype", "transposed"])
    at = rng.randrange(len(shape)) if shape else 0
    if change == "size" and shape:
        shape[at] = rng.choice([1, 2, 3, 5, 17])
    elif change == "empty" and shape:
        shape[at] = 0
    elif change == "rank":
        shape = rng.choice([shape[1:], shape[:-1], [1, *shape], [*shape, 1], [2, *shape]])
    elif change == "transposed":
        rng.shuffle(shape)
    else:
        dtype = rng.choice(DTYPES)
    return tuple(shape), dtype


def values(rng, shape, dtype):
    """Return values in range for most ops, occasionally one that is an invalid index."""
    generator = np.random.default_rng(rng.randrange(2**32))
    if dtype.is_floating or dtype is df.bool_:
        return df.cast(df.constant(generator.normal(size=shape)), dtype)
    array = generator.integers(0, 3, shape)
    if array.size and rng.random() < 0.3:
        array.flat[rng.randrange(array.size)] = rng.choice(INTEGERS)
    return df.cast(df.constant(array), dtype)


def changed(rng, op, inputs, attrs):
    """Return the call with one to three parts replaced."""
    inputs, attrs = list(inputs), list(attrs)
    kinds = _core.get_op(op).attr_types
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(inputs) + 2 * len(attrs) or 1)
        if at < len(inputs):
            inputs[at] = hostile_input(rng, *inputs[at])
        elif attrs:
            at = (at - len(inputs)) // 2
            attrs[at] = hostile_attribute(rng, kinds[at], attrs[at])
    return inputs, attrs


def outcome(call, tensors):
    """Return the bits of the results, or None if the call raises."""
    try:
        return bits(harness.results(call(*tensors)))
    except (DualflowError, TypeError, ValueError, OverflowError, MemoryError, IndexError):
        return None


def attempt(rng, op, inputs, attrs):
    """Return what is wrong with a call, or None."""
    tensors = [values(rng, *spec) for spec in inputs]
    named = dict(zip(_core.get_op(op).attrs, attrs, strict=True))
    text = f"{op}({', '.join(f'{d.name} {s}' for s, d in inputs)}; {str(named)[:400]})"
    os.write(LOG, (text + "\n").encode())
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True, file=sys.__stderr__)
    signal.alarm(SECONDS)

    def call(*given):
        return _core.apply(op, *given, **named)

    try:
        eager = outcome(call, tensors)
        signature = [df.TensorSpec([None] * x.ndim, x.dtype) for x in tensors]
        traced = outcome(df.function(call, input_signature=signature), tensors)
    except BaseException as exception:
        return f"{text}: {type(exception).__name__}: {exception}"
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
    if eager != traced:
        return f"{text}: {_shown(eager)} eagerly, {_shown(traced)} traced"
    return None


def _shown(result):
    return "refused" if result is None else [(shape, str(dtype)) for shape, dtype, _ in result]


def limit_memory():
    """Limit memory, so that large sizes raise instead of being filled for minutes."""
    sizes = Path("/proc/self/statm")
    if sizes.exists() and "LD_PRELOAD" not in os.environ:     # sanitizers need address space
        limit = int(sizes.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--only", default="", help="ops whose names contain this")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    known = {op: calls for op, calls in sorted(known_calls().items()) if options.only in op}
    limit_memory()
    failures = 0
    for k in range(options.count):
        op = list(known)[k % len(known)]
        wrong = attempt(rng, op, *changed(rng, op, *rng.choice(known[op])))
        if wrong is not None:
            failures += 1
            print(wrong[:600], flush=True)
    check_usable()
    print(f"{options.count} calls of {len(known)} ops, {failures} failures, seed {options.seed}")
    return 1 if failures else 0


LOG = os.open(os.environ.get("HOSTILE_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
if __name__ == "__main__":
    faulthandler.enable()
    signal.signal(signal.SIGALRM, give_up)
    sys.exit(main())
