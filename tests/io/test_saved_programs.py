"""Random programs, saved and loaded, match plain Python."""

import json
import warnings

import numpy as np

import dualflow as df
from dualflow.io.loaded import LoadedFunction
from dualflow.io.save import Saved
from tests.programs import written
from tests.programs.program import difference


def as_loaded(f):
    """Return a function that is traced, serialised and interpreted at each call; variables belong
    to the program."""
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


def test_python_control_flow(request):
    """Cover branches, loops, random draws, updates, and gradients inside and outside."""
    for seed in range(60 if request.config.getoption("--exhaustive") else 2):
        f = written.compiled(written.Writer(seed).text)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wrong = difference(written.run(seed, f, as_loaded), written.run(seed, f, lambda g: g))
        assert wrong is None, f"seed {seed}: {wrong}"
