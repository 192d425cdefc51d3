"""Every op of the C table has a public function, a gradient decision, a case and a benchmark."""

import ast
import collections
import functools
from pathlib import Path

import dualflow.autodiff.gradient_rules  # noqa: F401  registers the gradients
from asv_bench.benchmarks.ops import has_benchmark
from dualflow import _core
from tests.for_each import for_each
from tests.ops.cases import CASES
from tests.syntax import nodes

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def first_strings(path):
    """Return the literal first arguments of the calls in a file, as pairs with the function."""
    return [(getattr(node.func, "id", getattr(node.func, "attr", None)), node.args[0].value)
            for node in nodes(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)]


@functools.cache
def applied():
    """Return the ops that the package applies."""
    found = {op for p in (ROOT / "dualflow").rglob("*.py") for function, op in first_strings(p)
             if function in ("apply", "apply_unary", "apply_binary")}
    # apply_ordered takes the op object
    found |= {op for p in (ROOT / "dualflow/ops").rglob("*.py") for function, op in first_strings(p)
              if function == "get_op"}
    # Variables apply their ops directly, in a layer below dualflow.ops.
    return found | {op for op in _core.ops() if _core.get_op(op).writes}


CASED = {c.op for c in CASES}
# Ops that only graph passes and the backward pass create have no public function, row or
# benchmark, but tests of their own.
PUBLIC = [op for op in _core.ops() if not _core.get_op(op).internal]


@for_each(PUBLIC)
def test_op_has_a_public_function(op):
    assert op in applied(), f"no function in dualflow applies {op}"


@for_each(PUBLIC)
def test_op_declares_a_gradient_or_none(op):
    handle = _core.get_op(op)
    decided = handle.rule is not None or handle.why_no_gradient or handle.writes
    assert decided, f"{op} has neither a gradient rule nor a reason for having none"


def test_gradients_are_declared_once():
    decided = [op for p in sorted((ROOT / "dualflow").rglob("*.py"))
               for function, op in first_strings(p) if function in ("gradient", "no_gradient")]
    assert decided and len(set(decided)) == len(decided), collections.Counter(decided)


@for_each(PUBLIC)
def test_op_has_a_value_test(op):
    assert op in CASED or _core.get_op(op).writes, f"no row of tests/ops covers {op}"


@for_each(PUBLIC)
def test_op_has_a_benchmark(op):
    assert has_benchmark(op), f"no row in asv_bench/benchmarks/ops.py for {op}"
