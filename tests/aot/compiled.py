"""Runs tile code compiled, many clusters in one library, and compares it with the interpreter."""

from dualflow import _core
from dualflow._core import Program, get_op, make_attrs
from dualflow.aot.clusters.request import requests
from dualflow.aot.clusters.worker import WORKER
from dualflow.graph.program.spec import (
    ArgumentSpec,
    InstructionSpec,
    ProgramSpec,
    ResultSpec,
    SlotKind,
    SlotSpec,
)
from dualflow.graph.trace.parameters import Argument
from tests.graph.build import assert_same

CLUSTER = get_op("cluster")


def program_of(cluster, outputs, results):
    """Return the specification of a program of one cluster, whose results are like `results`."""
    args = [ArgumentSpec(Argument(k, "x"), x.dtype, tuple(x.shape))
            for k, x in enumerate(cluster.inputs)]
    slots = [SlotSpec(SlotKind.ARG, x.dtype, x.shape, k) for k, x in enumerate(args)]
    slots += [SlotSpec(SlotKind.RESULT, x.dtype, tuple(x.shape), k) for k, x in enumerate(results)]
    n = len(args)
    attrs = make_attrs(CLUSTER, shape=cluster.shape, code=tuple(cluster.code(*outputs)))
    instruction = InstructionSpec(CLUSTER, tuple(range(n)), tuple(range(n, len(slots))), attrs)
    returned = [ResultSpec(SlotKind.RESULT, k, x.dtype, tuple(x.shape))
                for k, x in enumerate(results)]
    return ProgramSpec("f", tuple(slots), (instruction,), tuple(args), (), (), tuple(returned), 0)


def check_compiled(cases, threads=(1, 2)):
    """Compile (cluster, outputs) pairs and compare each with the interpreter; return the rejected
    pairs with reasons."""
    made = []
    for cluster, outputs in cases:
        want = cluster.run(*outputs)
        spec = program_of(cluster, outputs, want)
        program = Program(spec)
        made.append((cluster, want, program, *requests(spec, program)))
    WORKER.add([job for *_, job in made])
    assert WORKER.wait(600)
    before = _core.num_threads()
    try:
        for count in threads:
            _core.set_num_threads(count)
            for cluster, want, program, _ in made:
                for g, w in zip(program.run(cluster.inputs), want, strict=True):
                    assert_same(g, w)
    finally:
        _core.set_num_threads(before)
    return [(cluster, job.state) for cluster, _, _, job in made if job.state != "compiled"]
