"""einsum, tensordot, matvec and @ against NumPy, with gradients."""

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.linalg import einsum as module

EQUATIONS = [
    ("i->i", (3,)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ij", (2, 3)),
    ("ba", (2, 3)), ("ii->i", (3, 3)), ("ii->", (3, 3)), ("ii", (3, 3)), ("iij->ij", (3, 3, 2)),
    ("iji->j", (3, 2, 3)), ("iii->i", (3, 3, 3)), ("ijij->ij", (2, 3, 2, 3)), ("->", ()),
    ("i,i->", (4,), (4,)), ("i,i->i", (4,), (4,)), ("i,j->ij", (2,), (3,)),
    ("i,j->ji", (2,), (3,)), ("i,j->", (2,), (3,)), (",i->i", (), (3,)), ("i,->i", (3,), ()),
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)), ("ji,jk->ik", (3, 2), (3, 4)),
    ("ji,kj->ik", (3, 2), (4, 3)), ("ij,jk->ki", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)),
    ("ij,ij->", (2, 3), (2, 3)), ("ij,ji->", (2, 3), (3, 2)), ("ij,j->i", (2, 3), (3,)),
    ("i,ij->j", (2,), (2, 3)), ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bkj->bik", (5, 2, 3), (5, 4, 3)), ("ijb,jkb->bik", (2, 3, 5), (3, 4, 5)),
    ("bi,bi->b", (4, 3), (4, 3)), ("bij,bij->bj", (4, 3, 2), (4, 3, 2)),
    ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)),
    ("bhqk,bkhd->bqhd", (2, 4, 3, 6), (2, 6, 4, 5)), ("bsd,dhk->bshk", (2, 3, 4), (4, 5, 6)),
    ("ijkl,lk->ji", (2, 3, 4, 5), (5, 4)), ("ab,cd->dbca", (2, 3), (4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...,...->...", (2, 3), (3,)), ("...i,i->...", (2, 3, 4), (4,)), ("...i->...", (2, 3, 4)),
    ("i...->...i", (2, 3, 4)), ("...ii->...i", (2, 3, 3)), ("...ij", (2, 4, 3)),
    ("b...,b->...b", (2, 3, 4), (2,)), ("a...b,b...a->...", (2, 3, 4), (4, 3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("i,j,k->ijk", (2,), (3,), (4,)),
    ("i,i,i->", (3,), (3,), (3,)), ("ij,ij,jk->ik", (2, 3), (2, 3), (3, 4)),
    ("a,ab,bc,cd,d->", (2,), (2, 3), (3, 4), (4, 5), (5,)), ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij,jk->ik", (0, 2), (2, 3)), (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)), ("aB,Bc->ca", (2, 3), (3, 4)),
]


def operands(shapes):
    rng = np.random.default_rng(7)
    return [rng.standard_normal(s) for s in shapes]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS], ids=str)
def test_einsum_matches_numpy(equation, shapes):
    arrays = operands(shapes)
    y = df.einsum(equation, *arrays)
    want = np.einsum(equation, *arrays)
    assert y.shape == want.shape and y.dtype is df.float64
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS], ids=str)
def test_einsum_gradients(equation, shapes):
    """Check one direction; einsum is linear in each operand, so the finite difference is exact."""
    arrays = operands(shapes)
    xs = [df.constant(a) for a in arrays]
    with df.GradientTape(persistent=True) as tape:
        for x in xs:
            tape.watch(x)
        y = df.einsum(equation, *xs)
        weights = df.constant(np.random.default_rng(3).standard_normal(y.shape))
        loss = df.reduce_sum(y * weights)
    for k, (x, a) in enumerate(zip(xs, arrays, strict=True)):
        g = tape.gradient(loss, x)
        assert g.shape == x.shape and g.dtype is x.dtype
        direction = np.random.default_rng(k).standard_normal(a.shape)
        moved = [*arrays[:k], direction, *arrays[k + 1:]]
        want = np.sum(np.einsum(equation, *moved) * weights.numpy())
        np.testing.assert_allclose(np.sum(g.numpy() * direction), want, rtol=1e-10, atol=1e-10)


def test_second_order():
    a, b = [df.constant(v) for v in operands([(2, 3), (3, 2)])]
    with df.GradientTape() as outer:
        outer.watch(a)
        with df.GradientTape() as inner:
            inner.watch(a)
            y = df.einsum("ij,jk,ij->ik", a, b, a)
            loss = df.reduce_sum(y)
        g = inner.gradient(loss, a)
        total = df.reduce_sum(g * g)
    h = outer.gradient(total, a)
    scale = 2 * b.numpy().sum(1)                     # g = a * scale
    np.testing.assert_allclose(h.numpy(), 2 * a.numpy() * scale**2, rtol=1e-12)


def test_dtypes():
    i = df.einsum("ij,jk->ik", np.arange(6).reshape(2, 3), np.ones((3, 2), "int32"))
    assert i.dtype is df.int64 and i.numpy().tolist() == [[3, 3], [12, 12]]
    mixed = df.einsum("i,i->", np.ones(3, "float32"), np.ones(3))
    assert mixed.dtype is df.float64 and mixed.item() == 3
    v = df.Variable([[1.0, 2.0]])
    for y in (df.einsum("ij", v), df.einsum("ij->ij", v, name="y")):
        assert isinstance(y, df.Tensor) and y.numpy().tolist() == [[1, 2]]


def test_plans_are_cached():
    a = np.ones((2, 3), "float32")
    df.einsum("ij,kj->ik", a, a)
    hits = module._plan.cache_info().hits
    df.einsum("ij,kj->ik", a, a)
    assert module._plan.cache_info().hits == hits + 1


def test_contraction_order_is_greedy():
    """Contracting the vector first avoids intermediates larger than the matrices."""
    plan = module._plan("ij,jk,k->i", ((50, 60), (60, 70), (70,)))
    assert [(p.i, p.j) for p in plan.pairs] == [(1, 2), (0, 1)]


@pytest.mark.parametrize("equation, shapes, message", [
    ("ij,jk->ik", [(2, 3)], "2 terms for 1 operands"),
    ("ij->ik", [(2, 3)], "'k' in the result"), ("ij->ii", [(2, 3)], "is repeated"),
    ("i1->i", [(2, 3)], "expected letters"), ("i..->i", [(2, 3)], "expected letters"),
    ("......->", [(2, 3)], "expected letters"), ("ij->i->j", [(2, 3)], "expected letters"),
    ("ijk->i", [(2, 3)], r"operand 0 has shape \(2, 3\).*'ijk'"),
    ("i->i", [(2, 3)], r"operand 0 has shape \(2, 3\)"), ("...ijk", [(2, 3)], "operand 0"),
    ("ij,jk->ik", [(2, 3), (4, 5)], r"'j' .* is 3 and 4 in the shapes \(2, 3\), \(4, 5\)"),
    ("ii->i", [(2, 3)], "'i' .* is 2 and 3"), ("...i->i", [(2, 3)], "no ellipsis"),
    ("...,...->...", [(2,), (3,)], "under the ellipsis"), ("ij,jk->ik", [(2, 1), (3, 4)], "'j'"),
])
def test_bad_equations(equation, shapes, message):
    with pytest.raises(ValueError, match=f"einsum: .*{message}"):
        df.einsum(equation, *[np.ones(s) for s in shapes])


def test_equation_that_is_not_a_string_raises():
    with pytest.raises(TypeError, match="einsum: the equation is a int"):
        df.einsum(3, [1.0])
    with pytest.raises(TypeError, match="einsum"):
        df.einsum("i", "no numbers")


@pytest.mark.parametrize("a, b, axes", [
    ((2, 3), (3, 4), 1), ((2, 3), (4, 5), 0), ((2, 3), (2, 3), 2), ((2, 3, 4), (3, 4, 5), 2),
    ((2, 3), (4, 2), ((0,), (1,))), ((2, 3, 4), (4, 5, 3), ((1, 2), (2, 0))),
    ((2, 3, 4), (4, 5, 3), ((2, 1), (0, 2))), ((2, 3), (4, 3), (-1, -1)),
    ((2, 3), (4, 3), (1, 1)), ((2, 3), (4,), ((), ())), ((3,), (3,), 1), ((), (2,), 0),
    ((0, 3), (3, 2), 1), ((2, 0), (0, 3), 1), ((2, 2), (2, 2), [[0, 1], [1, 0]]),
])
def test_tensordot_matches_numpy(a, b, axes):
    x, y = operands([a, b])
    z = df.tensordot(x, y, axes)
    want = np.tensordot(x, y, axes)
    assert z.shape == want.shape
    np.testing.assert_allclose(z.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes, message", [
    (3, "axes is 3"), (-1, "axes is -1"), (((0,), (2,)), "axis 2 is out of range for b"),
    (((-3,), (0,)), "axis -3 is out of range for a"), (((0, 0), (0, 1)), "is repeated"),
    (((0,), (0, 1)), "1 axes of a, 2 of b"), (((0,), (1,)), "differ in size"),
    ("ab", "expected an int or"), (None, "expected an int or"), ((1,), "expected an int or"),
    (1.5, "expected an int or"), ((0, 1, 2), "expected an int or"),
])
def test_tensordot_bad_axes(axes, message):
    with pytest.raises(ValueError, match=f"tensordot: .*{message}"):
        df.tensordot(np.ones((2, 3)), np.ones((2, 3)), axes)


@pytest.mark.parametrize("a, b", [
    ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,)),
    ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((0,), (0,)), ((3,), (3, 0)),
])
def test_matmul_operator_matches_numpy(a, b):
    x, y = operands([a, b])
    want = x @ y
    for z in (df.constant(x) @ df.constant(y), df.constant(x) @ y, x @ df.constant(y)):
        assert isinstance(z, df.Tensor) and z.shape == want.shape
        np.testing.assert_allclose(z.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("a, b", [((), (3,)), ((3,), ()), ((2,), (3,)), ((2, 3), (2,))])
def test_matmul_operator_of_incompatible_shapes_raises(a, b):
    with pytest.raises(ValueError, match="matmul"):
        df.constant(np.ones(a)) @ df.constant(np.ones(b))


def test_gradient_of_the_matmul_operator():
    m, v = df.constant([[1.0, 2.0], [3.0, 4.0]]), df.constant([5.0, 6.0])
    with df.GradientTape() as tape:
        tape.watch(v)
        y = v @ m @ v
    assert tape.gradient(y, v).numpy().tolist() == [40.0, 73.0]      # (m + m^T) v


def test_matvec():
    a, b = operands([(5, 2, 3), (5, 3)])
    np.testing.assert_allclose(df.linalg.matvec(a, b).numpy(), np.einsum("bij,bj->bi", a, b))
    np.testing.assert_allclose(df.linalg.matvec(a, b[0]).numpy(), a @ b[0])
    c = np.swapaxes(a, 1, 2)
    np.testing.assert_allclose(df.linalg.matvec(c, b, transpose_a=True).numpy(),
                               np.einsum("bij,bj->bi", a, b))
    with pytest.raises(ValueError, match=r"matvec: b has shape \(\)"):
        df.linalg.matvec(a, 1.0)
