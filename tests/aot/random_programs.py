"""Random programs, traced."""

import numpy as np

import dualflow as df
from tests.graph.test_random_programs import VARIABLE_STEPS, Program
from tests.programs.steps import STEPS


def random_program(seed, n=25):
    """A random program of `n` steps, none of which calls Python, as a concrete function, and its
    arguments."""
    rng = np.random.default_rng(seed)
    names = sorted(STEPS.keys() - {"in Python"}) + VARIABLE_STEPS
    steps = [(names[rng.integers(len(names))], int(rng.integers(61)), int(rng.integers(61)),
              int(rng.integers(12))) for _ in range(n)]
    program = Program(steps, "float32", seed)
    return df.function(program.__call__).get_concrete_function(*program.args), program.args
