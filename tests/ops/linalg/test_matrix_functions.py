"""Functions of matrices against NumPy and SciPy, batched, with gradients by finite differences."""

import numpy as np
import pytest
import scipy.linalg

import dualflow as df

RNG = np.random.default_rng(5)
ANY = RNG.normal(size=(2, 3, 3)) / 2
POSITIVE = np.einsum("bij,bkj->bik", ANY, ANY) + 0.5 * np.eye(3)
TALL, LOW = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(5, 1)) * RNG.normal(size=(1, 3))


def symmetric(a):
    """Return the symmetric part: Cholesky reads only one triangle, so both must agree."""
    return (a + df.linalg.matrix_transpose(a)) / 2


CASES = {
    "expm": (df.linalg.expm, ANY, lambda a: np.stack([scipy.linalg.expm(x) for x in a])),
    "logm": (df.linalg.logm, POSITIVE[:1, :2, :2],
             lambda a: np.stack([scipy.linalg.logm(x) for x in a])),
    "sqrtm": (df.linalg.sqrtm, POSITIVE, lambda a: np.stack([scipy.linalg.sqrtm(x) for x in a])),
    "pinv": (df.linalg.pinv, TALL, np.linalg.pinv),
    "pinv of wide": (df.linalg.pinv, np.swapaxes(TALL, 1, 2), np.linalg.pinv),
    "logdet": (lambda a: df.linalg.logdet(symmetric(a)), POSITIVE,
               lambda a: np.linalg.slogdet(a)[1]),
    "matrix_transpose": (df.linalg.matrix_transpose, TALL, lambda a: np.swapaxes(a, -1, -2)),
    "cholesky_solve": (lambda a: df.linalg.cholesky_solve(df.linalg.cholesky(symmetric(a)),
                                                          TALL[:, :3]),
                       POSITIVE, lambda a: np.linalg.solve(a, TALL[:, :3])),
    "cross": (lambda a: df.linalg.cross(a, a[..., ::-1]), TALL,
              lambda a: np.cross(a, a[..., ::-1])),
    "normalize": (lambda a: df.linalg.normalize(a, axis=-1)[0], TALL,
                  lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    function, a, reference = CASES[name]
    x = df.constant(a)
    np.testing.assert_allclose(function(x).numpy(), reference(a), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(df.function(function)(x).numpy(), function(x).numpy(), rtol=0)
    weights = df.constant(RNG.normal(size=reference(a).shape))
    df.testing.check_gradients(lambda x: df.reduce_sum(function(x) * weights), [x])


@pytest.mark.parametrize("name", ["expm", "sqrtm", "pinv"])
def test_second_derivatives(name):
    function, a, _ = CASES[name]
    x = df.constant(a[:1])
    slope = df.grad(lambda x: df.reduce_sum(df.square(function(x))))
    df.testing.check_gradients(lambda x: df.reduce_sum(df.sin(slope(x))), [x])


def test_pinv_and_rank_of_singular_matrices():
    np.testing.assert_allclose(df.linalg.pinv(df.constant(LOW)).numpy(), np.linalg.pinv(LOW),
                               atol=1e-12)
    assert df.linalg.matrix_rank(df.constant(np.stack([LOW, TALL[0]]))).tolist() == [1, 3]
    assert df.linalg.matrix_rank([[1., 0.], [0., .1]], tol=.5).item() == 1
    assert df.linalg.matrix_rank(df.zeros([2, 2])).item() == 0


def test_complex_results_raise():
    for function in (df.linalg.logm, df.linalg.sqrtm):
        with pytest.raises(df.errors.InvalidArgumentError, match="no real"):
            function([[-1., 0.], [0., -2.]])


def test_reduced_precision_rounds_once():
    x = df.constant(ANY[0], df.float32)
    wide = df.linalg.expm(df.cast(df.cast(x, df.bfloat16), df.float32))
    got = df.linalg.expm(df.cast(x, df.bfloat16))
    assert got.dtype is df.bfloat16 and got.tolist() == df.cast(wide, df.bfloat16).tolist()


def test_bad_shapes():
    for call in (lambda: df.linalg.expm(TALL), lambda: df.linalg.cross([1., 2.], [1., 2.]),
                 lambda: df.linalg.matrix_transpose([1.]),
                 lambda: df.linalg.tensor_diag_part([[1., 2.]])):
        with pytest.raises(df.errors.ShapeError):
            call()


@pytest.mark.parametrize("k", [0, 1, -2, (-1, 1), (0, 2), (-3, -1), (1, 1)])
@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (5, 3)])
def test_diag_and_diag_part_round_trip(k, align, shape):
    a = RNG.normal(size=shape)
    part = df.linalg.diag_part(a, k=k, padding_value=9, align=align)
    low, high = k if isinstance(k, tuple) else (k, k)
    m, n = shape[-2:]
    offset = np.arange(n) - np.arange(m)[:, None]
    inside = (offset >= low) & (offset <= high)
    made = df.linalg.diag(part, k=k, num_rows=m, num_cols=n, padding_value=7, align=align)
    assert (made.numpy() == np.where(inside, a, 7)).all()
    put = df.linalg.set_diag(np.zeros(shape), part, k=k, align=align)
    assert (put.numpy() == np.where(inside, a, 0)).all()
    if low == high:
        assert (part.numpy() == np.diagonal(a, low, -2, -1)).all()
    df.testing.check_gradients(lambda x: df.reduce_sum(df.sin(df.linalg.diag_part(
        x, k=k, align=align))), [df.constant(a)])


@pytest.mark.parametrize("shape", [(0, 0), (1, 7), (3, 5), (5, 3), (2, 0, 3), (2, 3, 0), (0, 3, 4),
                                   (2, 2, 4, 4)])
def test_diagonals_inside_and_outside_of_matrices(shape):
    a = RNG.normal(size=shape)
    for k in range(-8, 9):
        def part(x, k=k):
            return df.linalg.diag_part(x, k=k)
        want = np.diagonal(a, k, -2, -1)
        for got in (part(a), df.function(part)(df.constant(a))):
            assert got.shape == want.shape and (got.numpy() == want).all()
    np.testing.assert_allclose(df.linalg.trace(a).numpy(), np.trace(a, 0, -2, -1), rtol=1e-14)


def test_tensor_diag():
    a = RNG.normal(size=(2, 3))
    whole = df.linalg.tensor_diag(a)
    assert whole.shape == (2, 3, 2, 3) and (df.linalg.tensor_diag_part(whole).numpy() == a).all()
    assert df.reduce_sum(df.cast(df.not_equal(whole, 0), df.int32)).item() == 6
