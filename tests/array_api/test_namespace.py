"""The namespace has the names and signatures of the standard."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import dualflow as df

xp = df.array_api

# Functions, methods and arguments of the standard and its extensions.
SIGNATURES = (Path(__file__).parent / "signatures.txt").read_text().splitlines()
METHODS = [line.partition("(")[0].removeprefix("array.") for line in SIGNATURES
           if line.startswith("array.")]
FUNCTIONS = {line.partition("(")[0]: line for line in SIGNATURES if not line.startswith("array.")}


def find(name):
    where, _, last = name.rpartition(".")
    places = {"": xp, "fft": xp.fft, "linalg": xp.linalg, "info": xp.__array_namespace_info__()}
    return getattr(places[where], last)


def parameters(function):
    """Return kinds, names (none for positional-only parameters) and defaults."""
    found = []
    for p in inspect.signature(function).parameters.values():
        name = p.name if p.kind is not p.POSITIONAL_ONLY else None
        found.append((p.kind, name, p.default))
    return found


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signature(name):
    wanted = {"inf": float("inf")}
    last = FUNCTIONS[name].removeprefix(name.rpartition(".")[0] + ".")
    exec(f"def {last}: ...", wanted)
    assert parameters(find(name)) == parameters(wanted[name.rpartition(".")[2]])


@pytest.mark.parametrize("name", METHODS)
def test_arrays_have(name):
    for kind in (df.Tensor, df.Variable):
        assert hasattr(kind, name), name


def test_no_other_names():
    known = {name for name in FUNCTIONS if "." not in name} | {"fft", "linalg"}
    known |= {"e", "inf", "nan", "newaxis", "pi", *xp.__array_namespace_info__().dtypes()}
    assert set(xp.__all__) == known
    for module in (xp.fft, xp.linalg):
        prefix = module.__name__.rpartition(".")[2] + "."
        assert set(module.__all__) == {n.removeprefix(prefix) for n in FUNCTIONS
                                       if n.startswith(prefix)}


def test_namespace_info():
    info = xp.__array_namespace_info__()
    assert xp.__array_api_version__ == "2024.12"
    assert info.devices() == [info.default_device()] == [xp.ones(1).device]
    assert info.default_dtypes() == {
        "real floating": df.float32, "complex floating": df.complex64, "integral": df.int32,
        "indexing": df.int64}
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]
    assert info.capabilities()["max dimensions"] == 254
    assert df.zeros([1] * 254).ndim == 254
    with pytest.raises(ValueError, match="device is 'gpu'"):
        info.dtypes(device="gpu")


def test_constants():
    assert (xp.e, xp.pi, xp.inf) == (2.718281828459045, 3.141592653589793, float("inf"))
    assert xp.nan != xp.nan and xp.newaxis is None


@pytest.mark.parametrize("x", [df.constant([1.0]), df.Variable([1.0])])
def test_arrays_name_their_namespace(x):
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="api_version is '1999"):
        x.__array_namespace__(api_version="1999.12")


def test_devices():
    x = xp.ones(2, device="cpu")
    assert x.device == xp.zeros_like(x, device=x.device).device == "/device:CPU:0"
    assert x.to_device("cpu") is x.to_device(x.device) is x
    with pytest.raises(ValueError, match="device 'gpu'"):
        x.to_device("gpu")
    with pytest.raises(ValueError, match="stream 1"):
        x.to_device("cpu", stream=1)
    with pytest.raises(ValueError, match="asarray: device is 'gpu'"):
        xp.asarray(1, device="gpu")


def test_matrix_transpose():
    x = df.reshape(df.range(24), [2, 3, 4])
    assert x.mT.shape == (2, 4, 3) and x.mT[1, 3, 2].item() == x[1, 2, 3].item()
    with pytest.raises(ValueError, match="2 dimensions"):
        df.constant([1]).mT  # noqa: B018


def test_namespace_is_imported_lazily():
    code = ("import sys, dualflow as df; late = 'dualflow.array_api' in sys.modules; "
            "df.array_api.ones(1); sys.exit(late)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
