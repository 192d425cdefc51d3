"""`df.config.optimizer`: defaults of traced functions."""

import pytest

import dualflow as df

optimizer = df.config.optimizer


@pytest.fixture(autouse=True)
def restored():
    yield
    optimizer.set_experimental_options({"disable_meta_optimizer": False})
    optimizer.set_jit(False)


def made():
    return df.function(lambda x: (x + 1.) * df.reduce_sum(df.constant([2., 3.])))


def test_options():
    optimizer.set_experimental_options({"constant_folding": False})
    assert optimizer.get_experimental_options()["constant_folding"] is False
    before = made()
    optimizer.set_experimental_options({"disable_meta_optimizer": True})
    after = made()
    assert before.options.passes and not after.options.passes
    assert before(df.constant(2.)).item() == after(df.constant(2.)).item() == 15.
    with pytest.raises(df.errors.InvalidArgumentError, match="there is no option 'speed'"):
        optimizer.set_experimental_options({"speed": 1})


def test_jit():
    assert optimizer.get_jit() == "" and not made().options.jit
    optimizer.set_jit(True)
    assert optimizer.get_jit() == "autoclustering" and made().options.jit
    assert not df.function(lambda x: x, jit_compile=False).options.jit
    with pytest.raises(df.errors.InvalidArgumentError, match="set_jit: enabled is 'on'"):
        optimizer.set_jit("on")
