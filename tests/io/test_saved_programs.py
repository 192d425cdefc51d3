"""Random programs do the same when they are saved and loaded, as in plain Python."""

import json
import warnings

import numpy as np

import dualflow as df
from dualflow.io.loaded import LoadedFunction
from dualflow.io.save import Saved
from tests.programs import written
from tests.programs.program import difference


def as_loaded(f):
    """A function that is traced, described as it is saved, and played, at each call; variables are
    those of the program."""
    function = df.function(f)

    def call(*args):
        function.get_concrete_function(*args)
        module = df.Module()
        module.f = function
        saved = Saved(module)
        said = json.loads(json.dumps(saved.description()))
        held = {**saved.variables, **saved.constants, **saved.generators}
        return LoadedFunction(said["functions"][0], held)(*args)

    return call


def test_python_s_own_control_flow(request):
    """With branches, loops, draws, updates and gradients, inside and around."""
    for seed in range(60 if request.config.getoption("--exhaustive") else 2):
        f = written.compiled(written.Writer(seed).text)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wrong = difference(written.run(seed, f, as_loaded), written.run(seed, f, lambda g: g))
        assert wrong is None, f"seed {seed}: {wrong}"
