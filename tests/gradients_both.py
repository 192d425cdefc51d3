"""Run every gradient of a tape by the interpreted and the compiled backward pass; compare bits."""

import numpy as np

import dualflow as df
from dualflow._core import CachedTape, Tape
from dualflow.autodiff import batched_vjp, compiled_backward, tape

TAPES = compiled_backward.TAPES
counts = {"both": 0, "interpreted": 0}
whys: dict[str, int] = {}


def bits(g):
    """Return dtype, shape and bytes of a gradient, with every NaN replaced by the same NaN."""
    if g is None:
        return None
    if isinstance(g, df.IndexedSlices):
        return "rows", bits(g.values), bits(g.indices), g.shape
    if g.dtype.is_floating:
        clean = df.where(df.math.is_nan(g), df.constant(np.nan, g.dtype), g)
        return g.dtype, g.shape, clean.numpy().tobytes()
    return g.dtype, g.shape, g.numpy().tobytes()


def compute_gradients(tape: Tape, targets, seeds, ids, free, written=0):
    """Replace `compiled_backward.compute_gradients`: compile at the first call, and run both
    backward passes."""
    known = TAPES.find(tape, targets, seeds, ids)
    if type(known) is CachedTape and known.program is None and known.why is None:
        compiled_backward.compile_tape(known, tape, targets, seeds, ids)
    if type(known) is not CachedTape or known.program is None:
        why = known if isinstance(known, str) else known.why
        whys[why] = whys.get(why, 0) + 1
        counts["interpreted"] += 1
        return compiled_backward.interpret(tape, targets, seeds, ids, free), known
    interpreted = compiled_backward.interpret(tape, targets, seeds, ids, False)
    ran = TAPES.run(tape, targets, seeds, ids, free)
    assert type(ran) is list, ran
    for k, (a, b) in enumerate(zip(interpreted, ran, strict=True)):
        assert bits(a) == bits(b), f"gradient {k} of {compiled_backward.line(known)}:\n{a}\n{b}"
    same = [[x is y for y in interpreted] for x in interpreted]
    assert same == [[x is y for y in ran] for x in ran], (
        "the backward passes disagree on which gradients are the same object")
    counts["both"] += 1
    return interpreted, None


def switch_on():
    """Compute all gradients of tapes by both backward passes from now on."""
    tape.compute_gradients = batched_vjp.compute_gradients = compute_gradients
    tape.TAPES = Nothing


class Nothing:
    """A tape cache that never hits, so that every gradient goes through `compute_gradients`
    above."""

    @staticmethod
    def run_cached(tape, target, sources):
        tape._start("gradient")
        return 0


def summary():
    """Return how many gradients were compared, and why the others were not."""
    lines = [f"{counts['both']} gradients computed by both methods, "
             f"{counts['interpreted']} only interpreted:"]
    lines += [f"  {n} x {why}" for why, n in sorted(whys.items(), key=lambda x: -x[1])[:20]]
    return "\n".join(lines)
