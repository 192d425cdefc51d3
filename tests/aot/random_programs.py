"""Random programs that are traced and then saved and loaded, or exported."""

import numpy as np

import dualflow as df
from tests.aot.random_clusters import CALLS, RandomClusters
from tests.graph.build import assert_same
from tests.graph.test_random_programs import VARIABLE_STEPS, Program
from tests.programs.steps import STEPS


def random_program(seed, n=25):
    """Return a random program of `n` steps without Python calls as a concrete function, and its
    arguments."""
    rng = np.random.default_rng(seed)
    names = sorted(STEPS.keys() - {"in Python"}) + VARIABLE_STEPS
    steps = [(names[rng.integers(len(names))], int(rng.integers(61)), int(rng.integers(61)),
              int(rng.integers(12))) for _ in range(n)]
    program = Program(steps, "float32", seed)
    return df.function(program.__call__).get_concrete_function(*program.args), program.args


class RandomFunction:
    """The function of a seed, of any dtype and size, which owns variables. It also returns
    unchanged arguments, constants and variables, some of them twice.

    Attributes
    ----------
    program : RandomClusters
    function : Function
        Its clusters are compiled for every other seed.
    """

    def __init__(self, seed):
        self.program = RandomClusters(seed)
        rng = np.random.default_rng([seed, 13])
        self.constants = [x for x in self.program.starts if rng.integers(2)]
        self.chosen = rng.integers(0, 2**31, int(rng.integers(4))).tolist()
        self.function = df.function(self, jit_compile=seed % 2 == 1)

    def __call__(self, *args):
        v = self.program.variables
        old = v[0].value()
        made = self.program(*args)
        others = [*args, *made, *self.constants, *products(args[0]), old, v[-1].value(), *v]
        return made, [others[k % len(others)] for k in self.chosen]

    def concrete(self):
        return self.function.get_concrete_function(*self.program.args)


def products(x):
    """Return products of some rows of a tensor with themselves, if its dtype supports products."""
    if x.ndim == 0 or x.shape[-1] == 0 or x.dtype.is_bool or x.dtype.name in ("int16", "uint16"):
        return []
    rows = df.reshape(x, [-1, x.shape[-1]])[:17]
    sums = {"output_type": df.int32} if x.dtype.itemsize == 1 else {}
    return [df.matmul(rows, rows, transpose_b=True, **sums),
            df.matmul(rows[:, :33], rows[:, :33], transpose_a=True, **sums)]


def tensors(result):
    """Return the results of a call, with variables replaced by their values."""
    return [df.identity(x) for x in df.nest.flatten(result)]


def check_file(seed, path):
    """Save the function of a seed, load it, and compare its calls and variables with eager mode."""
    random = RandomFunction(seed)
    program = random.program
    df.save_program(random.concrete(), path)
    loaded = df.load_program(path)
    for _ in range(CALLS):
        want, got = random(*program.args), loaded(*program.args)
        df.nest.assert_same_structure(want, got)
        held = {v.name: v.value() for v in program.variables}
        pairs = [*zip(tensors(got), tensors(want), strict=True),
                 *[(v.value(), held[v.name]) for v in loaded.variables]]
        try:
            for g, w in pairs:
                assert_same(g, w)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def export(seeds, folder):
    """Export the functions of some seeds to one folder, with their arguments as examples."""
    made = {f"f{seed}": RandomFunction(seed) for seed in seeds}
    df.export(folder, {name: f.concrete() for name, f in made.items()},
              examples={name: f.program.args for name, f in made.items()})
