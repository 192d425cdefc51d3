"""Complex numbers in program files, exported C and compiled clusters."""

import numpy as np
import pytest

import dualflow as df
from tests.aot.test_build import make, needs_make
from tests.aot.test_program_files import saved

DTYPES = ("complex64", "complex128")


def values(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return df.constant((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype))


class Model(df.Module):
    """Steps with complex arguments, constants, variables and results."""

    def __init__(self, dtype):
        super().__init__()
        self.real = df.as_dtype(dtype).real_dtype
        self.w = df.Variable(values(dtype, 3, 5, seed=1), name="w")
        self.c = values(dtype, 5, seed=2)

    @df.function
    def train(self, x, r):
        with df.GradientTape() as tape:
            y = df.math.conj(x) * self.w / (1.5 + x) + self.c * df.complex(r, df.square(r))
            loss = df.reduce_sum(df.square(df.abs(df.square(y) - 1j)) * 1e-2)
        g = tape.gradient(loss, self.w)
        self.w.assign_sub(0.01 * g)
        return loss, y, df.equal(x, y), df.math.angle(g), df.cast(df.math.real(x), self.c.dtype)

    @df.function
    def inside(self, r):
        """Complex numbers occur within a cluster only."""
        z = df.complex(r, -r)
        return df.abs(z * z + 2.0) + df.math.imag(df.math.reciprocal(z))

    @df.function
    def move(self, x):
        y = df.concat([x, df.cumsum(x, 1)], 0)
        return (df.transpose(y), df.gather(y, [2, 0], axis=1), df.reduce_sum(y, 0),
                df.where(df.abs(y) > 1, y, 2j), df.cond(df.abs(x[0, 0]) > 1, lambda: x, lambda: -x))

    @df.function
    def transform(self, r):
        """Fourier transforms of real numbers of even and odd lengths, and their gradients."""
        with df.GradientTape() as tape:
            tape.watch(r)
            half = [df.signal.rfft(r, n) for n in (5, 12, 74)]
            loss = sum([df.reduce_sum(df.square(df.abs(df.square(z)))) for z in half])
        back = [df.signal.irfft(z, n) for z, n in zip(half, (5, 12, 74), strict=True)]
        return half, back, tape.gradient(loss, r), df.signal.fft(half[0])


@df.function
def equations(a, b):
    """Functions of matrices, and gradients."""
    with df.GradientTape() as tape:
        tape.watch([a, b])
        definite = df.matmul(a, a, adjoint_b=True) + df.eye(a.shape[0], dtype=a.dtype)
        x = df.linalg.solve(a, b)
        y = df.linalg.triangular_solve(df.linalg.cholesky(definite), x, adjoint=True)
        loss = df.reduce_sum(df.square(df.abs(y)))
    factors, rows = df.linalg.lu(a)
    return (x, y, factors, rows, df.linalg.inv(a), df.linalg.det(a), *df.linalg.slogdet(a),
            *tape.gradient(loss, [a, b]))


@pytest.fixture
def arguments(request):
    dtype = request.param
    model = Model(dtype)
    r = df.constant(np.random.default_rng(3).normal(size=5), model.real)
    x = values(dtype, 3, 5)
    return {"train": (model.train, x, r), "inside": (model.inside, r), "move": (model.move, x),
            "equations": (equations, values(dtype, 70, 70, seed=4), values(dtype, 70, 3, seed=5)),
            "transform": (model.transform, r)}


def bits(made):
    return [x.numpy().tobytes() for x in df.nest.flatten(made)]


@pytest.mark.parametrize("arguments", DTYPES, indirect=True)
def test_program_files(arguments, tmp_path):
    for function, *args in arguments.values():
        loaded = saved(tmp_path, function, *args)
        for _ in range(2):
            assert bits(function(*args)) == bits(loaded(*args))


@needs_make
@pytest.mark.parametrize("arguments", [
    "complex64", pytest.param("complex128", marks=pytest.mark.soak)], indirect=True)
def test_c_gives_the_bits_of_python(arguments, tmp_path):
    functions = {name: f.get_concrete_function(*args) for name, (f, *args) in arguments.items()}
    df.export(tmp_path / "model", functions,
              examples={name: args for name, (_, *args) in arguments.items()})
    header = (tmp_path / "model/model.h").read_text()
    part = "float" if "complex64" in header else "double"
    assert f"int model_move(model *model, const {part} *x," in header
    assert "complex numbers as two\n * numbers, the real part first" in header
    assert make(tmp_path / "model").startswith("bit-equal")


@needs_make
def test_dtypes_inside_clusters_are_included(tmp_path):
    """No operand or result in memory is complex."""
    model = Model("complex64")
    r = df.constant([0.5, -2.0, 3.0])
    df.export(tmp_path / "model", {"inside": model.inside.get_concrete_function(r)},
              examples={"inside": [r]})
    kernels = (tmp_path / "model/kernels.c").read_text()
    assert "_c64" in kernels and "conj_tile_c128" not in kernels
    assert make(tmp_path / "model").startswith("bit-equal")


def test_builds_without_complex_numbers_leave_them_out(tmp_path):
    f = df.function(lambda x: x * 2.0 + 1.0).get_concrete_function(df.ones([3]))
    df.export(tmp_path / "model", {"f": f})
    assert "#define DF_BUILT_C64 0" in (tmp_path / "model/runtime.h").read_text()
    assert "complex_multiply" not in (tmp_path / "model/kernels.c").read_text()
