"""Python behaviour of a Tensor: numbers, lengths, operators, promotion, sharing, printing."""

import copy
import gc
import itertools
import operator
import weakref

import numpy as np
import pytest

import dualflow as df
from dualflow.dtypes import ALL

UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
NUMBERS = ["float32", "float64", "int8", "int16", "int32", "int64", *UNSIGNED]


def tensor(*shape, dtype="float32"):
    return df.constant(np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype))


# --- lengths and iteration ----------------------------------------------------------------------

def test_len_and_iteration():
    x = tensor(3, 2)
    assert len(x) == 3 and x.ndim == 2 and x.size == 6 and x.nbytes == 24
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    assert [v.shape for v in tensor(2)] == [(), ()]
    assert list(tensor(0, 3)) == [] and len(tensor(0, 3)) == 0
    first, second = tensor(2, 2)
    assert first.tolist() == [1, 2] and second.tolist() == [3, 4]
    for function in (len, iter):
        with pytest.raises(TypeError, match=r"tensor with shape \(\)"):
            function(df.constant(1.0))


def test_contains():
    x = tensor(2, 2)
    assert 3 in x and 3.0 in x and df.constant(4.0) in x and 5 not in x
    assert 1 not in tensor(0)


# --- conversions to Python numbers --------------------------------------------------------------

@pytest.mark.parametrize("dtype", [d.name for d in ALL])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_converts_to_a_number(dtype, shape):
    x = df.cast(df.constant(np.ones(shape, "float32")), dtype)
    assert bool(x) is True and x.item() == 1
    if "complex" in dtype:
        assert type(x.item()) is complex and complex(x) == 1
        for function in (int, float):
            with pytest.raises(TypeError, match="imaginary part"):
                function(x)
        return
    assert int(x) == 1 and float(x) == 1.0
    kind = bool if dtype == "bool" else float if "float" in dtype else int
    assert type(x.item()) is kind and type(float(x)) is float and type(int(x)) is int


@pytest.mark.parametrize("function", [bool, int, float, lambda x: x.item()])
@pytest.mark.parametrize("shape", [(0,), (2,), (2, 1)])
def test_more_than_one_element_does_not_convert_to_a_number(function, shape):
    with pytest.raises(ValueError, match=r"a tensor with one element, got f|is ambiguous, f"):
        function(tensor(*shape))


def test_index():
    assert operator.index(df.constant(3)) == 3 and [10, 20][df.constant(1)] == 20
    assert range(10)[df.constant(-1, dtype="int8")] == 9
    for x in (df.constant(1.0), df.constant(True), df.constant([1])):
        with pytest.raises(TypeError, match="an index must be an integer tensor"):
            operator.index(x)


# --- operators ----------------------------------------------------------------------------------

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
              operator.mod, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS, ids=lambda f: f.__name__)
def test_operators_with_numbers_arrays_and_variables(op):
    a = np.array([1.5, 2.0, 4.0], "float32")
    b = np.array([2.0, 2.0, 3.0], "float32")
    x = df.constant(a)
    for left, right in [(x, df.constant(b)), (x, b), (a, df.constant(b)), (x, b.tolist()),
                        (a.tolist(), df.constant(b)), (x, df.Variable(b)), (df.Variable(a), b)]:
        y = op(left, right)
        assert isinstance(y, df.Tensor)
        np.testing.assert_allclose(y.numpy(), op(a, b), rtol=1e-6)
    for number in (2, 2.0, np.float32(2), df.constant(2.0)):
        np.testing.assert_allclose(op(x, number).numpy(), op(a, np.float32(2)), rtol=1e-6)
        np.testing.assert_allclose(op(number, x).numpy(), op(np.float32(2), a), rtol=1e-6)
        assert op(x, number).dtype is op(number, x).dtype


@pytest.mark.parametrize("op", BITS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", *UNSIGNED])
def test_bit_operators(op, dtype):
    a, b = np.array([5, 6, 7], dtype), np.array([1, 2, 3], dtype)
    for y in (op(df.constant(a), df.constant(b)), op(df.constant(a), b), op(a, df.constant(b))):
        assert y.dtype.name == dtype and y.numpy().tolist() == op(a, b).tolist()
    assert op(df.constant(a), 2).numpy().tolist() == op(a, a.dtype.type(2)).tolist()
    assert op(2, df.constant(b)).numpy().tolist() == op(b.dtype.type(2), b).tolist()


def test_unary_operators():
    x = df.constant([-1.5, 2.5])
    assert (-x).tolist() == [1.5, -2.5] and (+x) is x and abs(x).tolist() == [1.5, 2.5]
    assert (~df.constant([1, 2])).tolist() == [-2, -3]
    assert (~df.constant([True, False])).tolist() == [False, True]
    assert round(x).tolist() == [-2.0, 2.0]
    assert x.T.tolist() == [-1.5, 2.5] and tensor(2, 3, 4).T.shape == (4, 3, 2)


def test_logic_on_bools():
    a, b = df.constant([True, True, False]), df.constant([True, False, False])
    assert (a & b).tolist() == [True, False, False]
    assert (a | b).tolist() == [True, True, False]
    assert (a ^ b).tolist() == [False, True, False]


def test_equality_with_other_objects_is_false():
    x = df.constant([1.0])
    for other in (None, "text", b"bytes", int):
        assert (x == other) is False and (x != other) is True
    assert (x == [1.0]).tolist() == [True]


def test_augmented_assignment_creates_new_tensors():
    x = y = df.constant([1.0, 2.0])
    y += 1
    assert x.tolist() == [1, 2] and y.tolist() == [2, 3]


def test_incompatible_operands_raise():
    x = tensor(2)
    for other in ("text", None, object(), {}):
        with pytest.raises((TypeError, ValueError)):
            x + other
    with pytest.raises(ValueError, match=r"add.*\(2,\).*\(3,\)"):
        x + tensor(3)
    with pytest.raises(TypeError):
        x & x
    with pytest.raises(TypeError):
        df.constant([True]) - df.constant([True])


# --- promotion ----------------------------------------------------------------------------------

# Within a kind the wider dtype wins; an integer with a float gives the float dtype; bool yields to
# all; a complex dtype is as wide as its parts. Otherwise the result is the narrowest dtype that
# holds both, integers as in NumPy.
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def promoted(a, b):
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if {a, b} & {"complex64", "complex128"}:
        return "complex128" if {a, b} & {"complex128", "float64"} else "complex64"
    if a in FLOATS and b in FLOATS:
        return "float32" if {a, b} == {"float16", "bfloat16"} else max(a, b, key=FLOATS.index)
    if a in FLOATS or b in FLOATS:
        return a if a in FLOATS else b
    return np.promote_types(a, b).name


@pytest.mark.parametrize("a, b", list(itertools.product([d.name for d in ALL], repeat=2)))
def test_promotion(a, b):
    x, y = (df.cast(df.constant([1.0, 1.0]), d) for d in (a, b))
    assert df.stack([x, y]).dtype.name == promoted(a, b)
    if promoted(a, b) in NUMBERS:
        z = x + y
        assert z.dtype.name == promoted(a, b) and df.cast(z, "float32").tolist() == [2, 2]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_python_scalars_are_weakly_typed(dtype):
    x = tensor(2, dtype=dtype)
    floating = dtype.startswith("float")
    assert (x + 1).dtype.name == (1 + x).dtype.name == dtype
    assert (x + True).dtype.name == dtype
    assert (x * 1.5).dtype.name == (1.5 * x).dtype.name == (dtype if floating else "float32")
    assert (x / 2).dtype.name == (
        "float64" if dtype in ("float64", "int64", "uint64") else "float32")
    assert (x == 1).dtype is df.bool_


def test_python_scalar_with_a_bool_tensor():
    b = df.constant([True, False])
    assert (b + 1).dtype is df.int32 and (b * 0.5).dtype is df.float32
    assert df.constant(2**40).dtype is df.int64 and df.constant(2**31 - 1).dtype is df.int32


def test_python_scalar_too_large_for_the_dtype_raises():
    with pytest.raises(OverflowError, match="300 does not fit uint8"):
        tensor(2, dtype="uint8") + 300


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_python_scalars_with_unsigned_tensors(dtype):
    top = np.iinfo(dtype).max
    x = tensor(2, dtype=dtype)
    assert (x * 0 + top).tolist() == df.constant([top] * 2, dtype).tolist() == [top] * 2
    assert df.constant(top, dtype).item() == top and df.fill([1], df.constant(top, dtype))[0] == top
    for bad in (-1, top + 1):
        for make in (lambda bad=bad: x + bad, lambda bad=bad: df.constant([0, bad], dtype),
                     lambda bad=bad: df.function(lambda x: x + bad)(x)):
            with pytest.raises(OverflowError, match=f"{bad} does not fit {dtype}"):
                make()


def test_limits_of_dtypes():
    for d in ALL:
        if d.is_complex:
            with pytest.raises(TypeError, match="no smallest"):
                print(d.limits)
            continue
        if d.is_integer:
            info = np.iinfo(d.name)
            assert (d.min, d.max, d.is_unsigned) == (info.min, info.max, d.name in UNSIGNED)
        elif d.is_floating and d is not df.bfloat16:
            assert (d.min, d.max) == (np.finfo(d.name).min, np.finfo(d.name).max)
        assert df.cast(df.constant(d.max, d), df.float64).item() == float(d.max)
        assert df.cast(df.constant(d.min, d), df.float64).item() == float(d.min)
    assert (df.bool_.min, df.bool_.max) == (False, True)


# --- immutability, sharing, lifetime ------------------------------------------------------------

def test_immutable():
    x = tensor(3)
    with pytest.raises(TypeError):
        x[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 5
    with pytest.raises(ValueError):
        x.numpy().flags.writeable = True
    for name in ("shape", "dtype", "ndim", "size", "T"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)
    with pytest.raises(TypeError, match="created by ops"):
        df.Tensor([1.0])
    a = np.ones(3, "float32")
    y = df.constant(a)
    a[:] = 7
    assert y.tolist() == [1, 1, 1]


@pytest.mark.parametrize("key", [0, -1, slice(1, 3), slice(2, None), slice(None)])
def test_slices_of_the_first_dimension_share_memory(key):
    x = tensor(4, 3)
    assert np.shares_memory(x.numpy(), x[key].numpy())
    assert x[key].numpy().tolist() == x.numpy()[key].tolist()


@pytest.mark.parametrize("key", [(slice(None), 1), slice(None, None, 2), slice(None, None, -1)])
def test_other_slices_copy(key):
    x = tensor(4, 3)
    assert not np.shares_memory(x.numpy(), x[key].numpy())
    assert x[key].numpy().tolist() == x.numpy()[key].tolist()


def test_arrays_keep_the_memory_alive():
    x = tensor(1000, 3)
    gone = weakref.ref(x)
    part = x[10:12]
    view = part.numpy()[:, 1:]
    want = view.copy()
    del x, part
    gc.collect()
    assert gone() is None
    trash = [tensor(1000, 3) * 0 for _ in range(20)]
    assert view.tolist() == want.tolist() and len(trash) == 20


def test_copy_returns_the_same_tensor():
    x = tensor(2)
    assert copy.copy(x) is x and copy.deepcopy({"x": x})["x"] is x


# --- hashing and printing -----------------------------------------------------------------------

def test_hash_is_identity():
    x, y = df.constant([1.0]), df.constant([1.0])
    assert hash(x) == hash(x) and len({id(v): v for v in (x, y)}) == 2
    names = {x: "x"}
    assert names[x] == "x"
    assert hash(df.Variable([1.0])) is not None


def test_repr():
    assert "float32" in repr(tensor(2, 2)) and "(2, 2)" in repr(tensor(2, 2))
    assert "4." in repr(tensor(2, 2))
    assert "int64" in repr(df.constant(5, dtype="int64"))
    assert "(0, 3)" in repr(tensor(0, 3))
    assert len(repr(df.zeros([1000, 1000]))) < 2000
    assert len(repr(df.zeros([1] * 100))) < 4000
    assert "float16" in repr(df.cast(tensor(2), "float16"))
    assert "bfloat16" in repr(df.cast(tensor(2), "bfloat16"))
    v = df.Variable([1.0], name="weights")
    assert "weights" in repr(v) and "Variable" in repr(v)
    assert df.TensorSpec([None, 3], "int32").__repr__() == (
        "TensorSpec(shape=(None, 3), dtype=int32)")


def test_spec_of_one_dimension():
    assert df.TensorSpec(2) == df.TensorSpec([2]) and df.TensorSpec(0, df.bool).shape == (0,)
    with pytest.raises(ValueError, match=r"shape is \(-1,\), expected"):
        df.TensorSpec(-1)


def test_specs_compare_shape_and_dtype():
    spec = df.TensorSpec([None, 3], "int32")
    assert spec == df.TensorSpec([None, 3], "int32", name="x") and hash(spec) == hash(
        df.TensorSpec([None, 3], "int32"))
    for other in (df.TensorSpec([None, 3], "int64"), df.TensorSpec([None, 4], "int32"),
                  df.TensorSpec([3], "int32"), (None, 3)):
        assert spec != other


@pytest.mark.parametrize("rank", [7, 8, 9, 12, 20])
def test_elementwise_at_high_rank(rank):
    """Cover ranks whose sizes do not fit inside the tensor struct."""
    rng = np.random.default_rng(rank)
    for _ in range(20):
        a, b = np.ones(rank, int), np.ones(rank, int)
        for axis in rng.choice(rank, 4, replace=False):
            a[axis], b[axis] = [(2, 2), (2, 1), (1, 3)][rng.integers(3)]
        x, y = rng.normal(size=a), rng.normal(size=b)
        np.testing.assert_array_equal((df.constant(x) * df.constant(y)).numpy(), x * y)
        np.testing.assert_array_equal((df.constant(x) + df.constant(x)).numpy(), x + x)
        np.testing.assert_array_equal((-df.constant(x)).numpy(), -x)
        np.testing.assert_array_equal((df.constant(x) > 0.).numpy(), x > 0)


@pytest.mark.parametrize("rank", [9, 12, 17])
def test_broadcast_along_alternate_dimensions(rank):
    """No two adjacent dimensions of an operand can be merged."""
    shapes = [[1 + d % 2 for d in range(rank)], [2 - d % 2 for d in range(rank)]]
    x, y = (np.arange(np.prod(s), dtype=float).reshape(s) for s in shapes)
    np.testing.assert_array_equal((df.constant(x) - df.constant(y)).numpy(), x - y)


def test_format():
    assert f"{df.constant(1.5):.2f}" == "1.50" and f"{df.constant(7):>3}" == "  7"
    assert f"{tensor(2)}" == str(tensor(2))


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (0,), (2, 3), (1, 1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_tolist(shape, dtype):
    x = df.cast(tensor(*shape), dtype)
    assert x.tolist() == x.numpy().tolist() and df.Variable(x).tolist() == x.tolist()


def test_constant_of_a_numpy_scalar_keeps_its_dtype():
    assert df.constant(np.float64(0.1)).dtype is df.float64
    assert df.constant(np.float64(0.1)).item() == 0.1
    assert (df.constant([1.0]) * np.float64(2)).dtype is df.float32    # weakly typed with tensors


def test_square_equals_the_product():
    x = df.constant([1.1, -3.3, 0.0, 1e30])
    v = df.Variable(x)
    for power in (x ** 2, x ** 2.0, v ** 2, df.function(lambda x: x ** 2)(x)):
        assert power.numpy().tobytes() == (x * x).numpy().tobytes()
    assert (df.constant([3, -2]) ** 2).tolist() == [9, 4]
    with df.GradientTape() as tape:
        y = v ** 2
    assert tape.gradient(y, v).tolist() == (2 * x).tolist()


# --- reuse of object memory ---------------------------------------------------------------------

def test_tensor_in_reused_memory_has_no_old_state():
    x, deep = tensor(4), df.reshape(tensor(4), [1] * 10 + [4])
    v = df.Variable(tensor(4))      # variable values are watched by every tape
    gone = weakref.ref(deep)
    with df.GradientTape() as tape:
        tape.watch([x, deep])
        before = {id(x), id(v.value())}
        del x, deep, v
        assert gone() is None
        fresh = [df.constant(3.) for _ in range(300)]
        assert before <= set(map(id, fresh)), "no object memory was reused: nothing is tested"
        z = [f * 2. for f in fresh]
    assert all(f.shape == () and f.ndim == 0 and f.size == 1 and f.item() == 3. for f in fresh)
    with pytest.warns(df.errors.GradientWarning):
        assert tape.gradient(z, fresh) == [None] * 300
    assert [weakref.ref(f)() is f for f in fresh] == [True] * 300


def test_weak_references_end_with_the_tensor():
    died = []
    x = tensor(3)
    kept = [weakref.ref(x, died.append), weakref.finalize(x, died.append, "finalized")]
    del x
    assert len(died) == 2 and died[0] == "finalized" and kept[0]() is None
    y = tensor(3)                   # may reuse the memory of x
    assert kept[0]() is None and weakref.getweakrefcount(y) == 0


def test_releasing_wrapped_memory_keeps_the_current_exception():
    class Owner(np.ndarray):
        def __del__(self):
            try:
                raise KeyError("of the owner")
            except KeyError:
                pass

    x = df.from_dlpack(np.arange(4.).view(Owner))
    try:
        try:
            raise ValueError("of the caller")
        finally:
            del x
    except ValueError as error:
        assert str(error) == "of the caller" and error.__context__ is None


def test_many_tensors_at_once():
    for n in (1, 256, 257, 2000):
        many = [df.constant(float(k)) for k in range(n)]
        assert [x.item() for x in many] == list(range(n))
        del many
