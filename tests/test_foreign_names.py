"""Names of NumPy and PyTorch raise an AttributeError that names dualflow's."""

import re
import subprocess
import sys

import numpy as np
import pytest

import dualflow as df
from dualflow._util.foreign_names import METHODS, NAMES
from dualflow.ops.foreign import ABSENT

X, V = df.constant([1., 2.]), df.Variable([1., 2.])


def test_the_list_of_names_is_that_of_the_table():
    assert set(METHODS) == ABSENT


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods(name):
    for x in (X, V, df.Tensor):
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=re.escape(METHODS[name])) as caught:
            getattr(x, name)
        assert caught.value.name == name
    assert name not in dir(X) and name not in dir(V)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_of_the_package(name):
    assert not hasattr(df, name) and name not in dir(df)
    with pytest.raises(AttributeError, match=re.escape(NAMES[name])):
        getattr(df, name)


@pytest.mark.parametrize("text", sorted({*METHODS.values(), *NAMES.values()}))
def test_advice_names_what_exists(text):
    for path in re.findall(r"dualflow((?:\.\w+)+)", text):
        found = df
        for part in path[1:].split("."):
            found = getattr(found, part)
    for name in re.findall(r"\bx\.(\w+)", text):
        assert hasattr(X, name)


def test_traced_tensors():
    with pytest.raises(AttributeError, match=r"'Symbol' object.*expand_dims"):
        df.function(lambda x: x.unsqueeze(0))(X)


def test_names_without_advice():
    with pytest.raises(AttributeError, match=r"^module 'dualflow' has no attribute 'foo'$"):
        _ = df.foo
    with pytest.raises(AttributeError, match="foo"):
        _ = X.foo
    assert "sum" in dir(X) and "shape" in dir(V)


def test_the_table_is_loaded_when_an_attribute_is_missing():
    code = """
import sys
import dualflow as df
x = df.constant(1.) + 1.
x.sum()
table = "dualflow._util.foreign_names"
before = table in sys.modules
assert not hasattr(x, "view")
sys.exit(before or table not in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_versions(capsys, monkeypatch):
    monkeypatch.setenv("DUALFLOW_LEVELS", "all")
    df.show_versions()
    shown = dict([map(str.strip, line.split(":", 1))
                  for line in capsys.readouterr().out.splitlines()])
    assert shown["dualflow"] == df.__version__ and shown["numpy"] == np.__version__
    assert shown["DUALFLOW_LEVELS"] == "all"


def test_limits_of_dtypes():
    assert df.finfo(df.float32).eps == 2. ** -23 and df.finfo("float64").bits == 64
    assert (df.iinfo(df.int8).min, df.iinfo("uint8").max) == (-128, 255)


def test_compat_is_reachable():
    code = """
import sys
import dualflow as df
assert "dualflow.compat" not in sys.modules
assert df.compat.v1.Session.__name__ == "Session"
assert "v1" in dir(df.compat) and not hasattr(df.compat, "v3")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
