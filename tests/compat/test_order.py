"""Random graphs of reads and writes: each run follows the documented order."""

import random

import numpy as np
import pytest

import dualflow.compat.v1 as tf


class Program:
    """Steps that read and write two variables, recorded in a graph and simulated in Python."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.variables = [tf.Variable(float(k + 1)) for k in range(2)]
        self.tensors, self.steps = [], []
        for _ in range(self.rng.randrange(6, 14)):
            self.add()

    def add(self):
        rng, n = self.rng, len(self.steps)
        waits = rng.sample(range(n), min(n, rng.choice([0, 0, 1, 2])))
        of = rng.randrange(n) if n and rng.random() < 0.6 else None
        kind, v = rng.choice(["read", "read", "add", "assign"]), rng.randrange(2)
        with tf.control_dependencies([self.tensors[k] for k in waits]):
            given = 1. if of is None else self.tensors[of]
            if kind == "read":
                made = tf.add(self.variables[v], given)
            elif kind == "add":
                made = self.variables[v].assign_add(tf.identity(given))
            else:
                made = self.variables[v].assign(tf.identity(given))
        self.tensors.append(made)
        self.steps.append((kind, v, of, waits))

    def needed(self, wanted):
        found, pending = set(), list(wanted)
        while pending:
            k = pending.pop()
            if k not in found:
                found.add(k)
                _, _, of, waits = self.steps[k]
                pending += [*waits, *([] if of is None else [of])]
        return sorted(found)

    def play(self, wanted, values):
        """Return the results of a run of the steps `wanted`, and the variables after it."""
        needed, late, made = self.needed(wanted), set(), {}
        for k in needed:
            kind, _, of, waits = self.steps[k]
            if kind != "read" or of in late or any(w in late for w in waits):
                late.add(k)
        values = list(values)
        for k in [k for k in needed if k not in late] + [k for k in needed if k in late]:
            kind, v, of, _ = self.steps[k]
            given = 1. if of is None else made[of]
            if kind == "read":
                made[k] = values[v] + given
            else:
                values[v] = made[k] = values[v] + given if kind == "add" else given
        return [made[k] for k in wanted], values


@pytest.mark.parametrize("seed", range(40))
def test_runs_follow_the_documented_order(seed):
    program, sess = Program(seed), tf.Session()
    sess.run(tf.global_variables_initializer())
    values = [1., 2.]
    for _ in range(4):
        n = len(program.steps)
        wanted = program.rng.sample(range(n), program.rng.randrange(1, min(n, 5)))
        expected, values = program.play(wanted, values)
        found, after = sess.run([[program.tensors[k] for k in wanted], program.variables])
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=str(program.steps))
        np.testing.assert_allclose(after, values, rtol=1e-6, err_msg=str(program.steps))
