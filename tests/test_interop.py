"""Exchange of tensors with other libraries: arrays, buffers, DLPack, pickles, copies."""

import array
import copy
import ctypes
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import dualflow as df

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (0,), (3, 0, 2), (1,), (5,), (2, 3), (2, 1, 4)]


def numbers(shape, dtype):
    n = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return np.asarray(n % 2 + 1j * n if "complex" in dtype else n % 2).astype(dtype)


# --- NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_array_in_and_out(dtype, shape):
    a = numbers(shape, dtype)
    x = df.constant(a)
    assert (x.shape, x.dtype.name) == (shape, dtype)
    b = x.numpy()
    assert b.dtype == a.dtype and not b.flags.writeable
    np.testing.assert_array_equal(a, b)
    assert np.asarray(x).ctypes.data == np.asarray(x).ctypes.data
    assert isinstance(b, np.ndarray if shape else np.generic)


@pytest.mark.parametrize("view", [
    lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::-2], lambda a: a[1:, 1:],
    np.asfortranarray, lambda a: np.broadcast_to(a[0], (3, *a.shape[1:])),
    lambda a: a.transpose(1, 2, 0), lambda a: a[:, :1, ::3],
])
@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "float32", "float64",
                                   ">i2", ">u8", ">f4", ">f8", "complex64", "complex128", ">c8",
                                   ">c16"])
def test_strided_and_swapped_arrays(view, dtype):
    a = view(np.arange(2 * 3 * 4).reshape(2, 3, 4).astype(dtype))
    np.testing.assert_array_equal(df.constant(a).numpy(), a)


def test_big_strided_array():
    a = np.arange(600 * 700, dtype="float32").reshape(600, 700).T
    np.testing.assert_array_equal(df.constant(a).numpy(), a)


def test_read_only_array_and_copy():
    a = np.ones(3, "float32")
    x = df.constant(a)
    a[0] = 5
    assert x.numpy()[0] == 1
    a.flags.writeable = False
    assert df.constant(a).numpy()[0] == 5


def test_array_protocol():
    x = df.constant([1.0, 2.0])
    assert np.asarray(x).ctypes.data == x.numpy().ctypes.data
    c = np.array(x)
    c[0] = 9
    assert x.numpy()[0] == 1
    assert np.asarray(x, dtype="float64").dtype == np.float64
    assert x.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        x.__array__("float64", copy=False)


def test_operators_of_array_and_tensor():
    x = df.constant([1.0, 2.0])
    for result in (np.float32([3, 4]) + x, x + np.float32([3, 4])):
        assert isinstance(result, df.Tensor)
        assert result.numpy().tolist() == [4, 6]
    assert (np.float64(2.0) * x).dtype is df.float32
    assert (x * np.float64(2.0)).dtype is df.float32
    assert (np.float64(2.0) * df.constant([1, 2])).dtype is df.float32
    assert (x + np.array(1.0)).dtype is df.float64
    assert (x + np.int64(2)).dtype is df.float32


def test_other_buffers():
    assert df.constant(array.array("d", [1, 2])).dtype is df.float64
    assert df.constant(memoryview(b"ab")).numpy().tolist() == [97, 98]
    assert df.constant(array.array("i", [1])).dtype is df.int32
    assert df.constant(memoryview(array.array("f", [1, 2, 3]))[::2]).numpy().tolist() == [1, 3]


@pytest.mark.parametrize("code", "BHILQ")
def test_unsigned_buffers(code):
    a = array.array(code, [0, 1, 2 ** (8 * array.array(code).itemsize) - 1])
    x = df.constant(a)
    assert x.dtype.name == f"uint{8 * a.itemsize}" and x.tolist() == a.tolist()
    view = memoryview(x)
    assert view.itemsize == a.itemsize and view.tolist() == a.tolist()


def test_unsigned_arrays_of_another_dtype():
    a = np.array([0, 65535], "uint16")
    assert df.constant(a).dtype is df.uint16
    for dtype in ("int32", "uint64", "float32", "float64"):
        assert df.constant(a, dtype=dtype).numpy().tolist() == [0, 65535]
    b = np.array([2**32 - 1], ">u4")
    assert df.constant(b).tolist() == df.constant(b, dtype="int64").tolist() == [2**32 - 1]
    assert df.constant(np.uint64(2**64 - 1)).item() == 2**64 - 1


def test_high_rank():
    x = df.constant(1.0)
    deep = 1.0
    for _ in range(100):
        deep = [deep]
    x = df.constant(deep)
    assert x.shape == (1,) * 100
    with pytest.raises(ValueError, match="rank 100"):
        x.numpy()
    assert pickle.loads(pickle.dumps(x)).shape == x.shape
    assert df.from_dlpack(x).shape == x.shape


# --- buffer protocol ----------------------------------------------------------------------------


def test_memoryview():
    x = df.constant([[1, 2, 3], [4, 5, 6]])
    m = memoryview(x)
    assert (m.readonly, m.format, m.shape, m.strides) == (True, "i", (2, 3), (12, 4))
    assert m.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert bytes(x) == x.numpy().tobytes()
    assert m.contiguous and m.c_contiguous and not m.f_contiguous


@pytest.mark.skipif(sys.version_info < (3, 12), reason="flags from Python 3.12 on")
def test_buffer_flags():
    import inspect

    x = df.constant([[1, 2, 3], [4, 5, 6]])
    flags = inspect.BufferFlags
    for flag in (flags.SIMPLE, flags.ND, flags.STRIDES, flags.FORMAT, flags.FULL_RO,
                 flags.C_CONTIGUOUS, flags.ANY_CONTIGUOUS):
        assert x.__buffer__(flag).nbytes == 24
    for flag in (flags.WRITABLE, flags.F_CONTIGUOUS, flags.FULL):
        with pytest.raises(BufferError):
            x.__buffer__(flag)


def test_writable_buffer_request_raises():
    x = df.constant(numbers((3,), "uint8"))
    with pytest.raises((BufferError, TypeError)):
        (__import__("ctypes").c_uint8 * 3).from_buffer(x)


def test_bfloat16_has_no_buffer(monkeypatch):
    x = df.constant([1.0], dtype="bfloat16")
    with pytest.raises(BufferError):
        memoryview(x)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)          # as if not installed
    for ask in (x.numpy, lambda: df.bfloat16.as_numpy_dtype):
        with pytest.raises(TypeError, match=r"bfloat16.*ml_dtypes.*cast to float32"):
            ask()


def test_bfloat16_arrays_both_ways():
    import ml_dtypes

    a = np.array([[1.5, -2.0, 3e38], [np.nan, -0.0, 1e-40]], ml_dtypes.bfloat16)
    for source in (a, a.T, a[::-1, 1:], a[1, 0], a[:0], np.array(a[0, 1])):
        x = df.constant(source)
        assert x.dtype is df.bfloat16 and x.shape == source.shape
        assert x.numpy().dtype == a.dtype == df.bfloat16.as_numpy_dtype
        assert x.numpy().tobytes() == source.tobytes()
        assert np.asarray(x).tobytes() == source.tobytes()
    x = df.constant(a)
    assert x.numpy().ctypes.data == x.numpy().ctypes.data and not x.numpy().flags.writeable
    a[0, 0] = 7
    assert float(x[0, 0]) == 1.5
    assert (x + a).dtype is df.bfloat16 and df.constant([a[0], a[1]]).dtype is df.bfloat16
    assert df.constant(a, dtype="float32").dtype is df.float32
    assert df.Variable(a).dtype is df.bfloat16
    assert df.zeros(2, ml_dtypes.bfloat16).dtype is df.zeros(2, a.dtype).dtype is df.bfloat16
    with pytest.raises(TypeError, match="float8_e4m3fn"):
        df.constant(a.astype(ml_dtypes.float8_e4m3fn))
    with pytest.raises(TypeError, match="masked"):
        df.constant(np.ma.array(a))


class Foreign:
    """A bfloat16 array of another package such as JAX: no buffer format, but DLPack."""

    dtype = "bfloat16"

    def __init__(self, tensor):
        self.tensor = tensor

    def __buffer__(self, flags):
        raise BufferError("no format for bfloat16")

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_bfloat16_of_other_packages_is_read_by_dlpack():
    inner = df.constant([[1.5, -2.0]], dtype="bfloat16")
    x = df.constant(Foreign(inner))
    assert x.dtype is df.bfloat16 and x.tolist() == [[1.5, -2.0]]
    assert (df.constant([[1.0]], "bfloat16") + Foreign(inner)).tolist() == [[2.5, -1.0]]
    assert df.function(lambda x: x * 2)(Foreign(inner)).tolist() == [[3.0, -4.0]]


def test_view_outlives_tensor():
    x = df.constant(np.arange(1000, dtype="float64"))
    view = x.numpy()
    del x
    gc.collect()
    for _ in range(10):
        df.constant(np.zeros(1000))
    assert view.sum() == 999 * 500


# --- DLPack -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_dlpack_both_ways(dtype, shape):
    a = numbers(shape, dtype)
    x = df.from_dlpack(a)
    np.testing.assert_array_equal(x.numpy(), a)
    b = np.from_dlpack(x)
    np.testing.assert_array_equal(b, a)
    assert not b.flags.writeable
    if a.size:
        assert np.asarray(x).ctypes.data == a.ctypes.data == b.ctypes.data


def test_dlpack_keeps_the_owner_alive():
    a = np.arange(1000, dtype="float32")
    x = df.from_dlpack(a)
    ref = weakref.ref(a)
    del a
    gc.collect()
    assert ref() is not None and x.numpy().sum() == 499500
    del x
    gc.collect()
    assert ref() is None


def test_dlpack_strided_is_copied():
    a = np.arange(12, dtype="int32").reshape(3, 4)
    for view in (a.T, a[::-1], a[:, ::2]):
        np.testing.assert_array_equal(df.from_dlpack(view).numpy(), view)
        with pytest.raises(BufferError):
            df.from_dlpack(view, copy=False)
    x = df.from_dlpack(a, copy=True)
    a[0, 0] = 7
    assert x.numpy()[0, 0] == 0


def test_dlpack_bools_are_normalised():
    a = np.array([0, 1, 7], "uint8").view(bool)
    assert df.from_dlpack(a).numpy().view("uint8").tolist() == [0, 1, 1]


def test_dlpack_bfloat16():
    x = df.constant([1.5, -2.0], dtype="bfloat16")
    assert df.from_dlpack(x).dtype is df.bfloat16


def test_dlpack_protocol_arguments():
    x = df.constant([1.0, 2.0])
    assert x.__dlpack_device__() == (1, 0)
    assert "versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    old = df.from_dlpack(x.__dlpack__())
    assert old.numpy().ctypes.data != x.numpy().ctypes.data
    for bad in ({"stream": 1}, {"dl_device": (2, 0)}, {"copy": False}):
        with pytest.raises(BufferError):
            x.__dlpack__(**bad)
    for bad in (1, "ab", [np.ones(2)], [1.5], np.ones((2, 2)), object()):
        for name in ("max_version", "dl_device"):
            with pytest.raises(df.errors.DTypeError, match=f"__dlpack__: .*{name} is"):
                x.__dlpack__(**{name: bad})
    writable = np.from_dlpack(x, copy=True)
    writable[0] = 5
    assert x.numpy()[0] == 1


def test_consumed_dropped_and_foreign_capsules():
    capsule = df.constant([1.0]).__dlpack__(max_version=(1, 0))
    df.from_dlpack(capsule)
    with pytest.raises(ValueError, match="consumed"):
        df.from_dlpack(capsule)
    df.constant([1.0]).__dlpack__()          # dropped unused
    with pytest.raises(ValueError, match="expected 'dltensor'"):
        df.from_dlpack(__import__("datetime").datetime_CAPI)
    with pytest.raises(TypeError):
        df.from_dlpack(3)


def test_dlpack_foreign_device_and_dtype():
    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise AssertionError

    with pytest.raises(BufferError, match="CPU"):
        df.from_dlpack(Elsewhere())
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="code 5 of 32 bits"):
        df.from_dlpack(torch.zeros(2, dtype=torch.complex32))


def test_variable_never_writes_foreign_memory():
    a = np.ones(4, "float32")
    v = df.Variable(df.from_dlpack(a))
    v.assign_add(np.ones(4, "float32"))
    assert a.tolist() == [1, 1, 1, 1] and v.numpy().tolist() == [2, 2, 2, 2]


def test_torch():
    torch = pytest.importorskip("torch")
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    x = df.from_dlpack(t)
    assert x.numpy().ctypes.data == t.data_ptr()
    assert torch.from_dlpack(x).tolist() == t.tolist()
    assert df.from_dlpack(t.bfloat16()).dtype is df.bfloat16
    assert df.constant(t.T).numpy().tolist() == t.T.tolist()


# --- pickles, copies, references ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(dtype, protocol):
    for value in ([[1, 0, 1], [0, 1, 1]], 1, []):
        x = df.constant(value, dtype=dtype)
        y = pickle.loads(pickle.dumps(x, protocol))
        assert (y.dtype, y.shape, y.nbytes) == (x.dtype, x.shape, x.nbytes)
        assert bytes(df.from_dlpack(y).__reduce_ex__(2)[1][2]) == x.__reduce_ex__(2)[1][2]


def test_pickle_out_of_band():
    x = df.constant([1.0, 2.0])
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    assert pickle.loads(data, buffers=buffers).numpy().tolist() == [1, 2]


def test_damaged_pickle():
    rebuild, (dtype, shape, data) = df.constant([1.0, 2.0]).__reduce_ex__(2)
    for bad in ((dtype, (3,), data), (dtype, (-1,), data), (dtype, (1,) * 300, data),
                ("uint64", shape, data), (dtype, shape, data[:-1])):
        with pytest.raises((ValueError, TypeError)):
            rebuild(*bad)


def test_copy_and_weakref():
    x = df.constant([1.0])
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
    ref = weakref.ref(x)
    del x
    assert ref() is None


def test_conversions_in_threads():
    a = np.arange(300_000, dtype="float64").reshape(500, 600).T
    bad = []

    def work():
        for _ in range(5):
            if not np.array_equal(df.constant(a).numpy(), a):
                bad.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


# --- hand-written buffer requests and capsules ---

class Buffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
                ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x38, 0x58, 0x98       # with PyBUF_STRIDES


@pytest.mark.parametrize("shape, column_major", [((2, 3), False), ((2, 1, 3), False), ((5,), True),
                                                 ((), True), ((1, 4, 1), True), ((0, 3), True)])
def test_buffer_requests_of_an_order(shape, column_major):
    x = df.ones(shape)
    for flags, given in ((C_CONTIGUOUS, True), (F_CONTIGUOUS, column_major),
                         (ANY_CONTIGUOUS, True)):
        view = Buffer()
        if not given:
            with pytest.raises(BufferError, match="not Fortran contiguous"):
                ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(view), flags)
            continue
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(view), flags)
        assert view.buf == np.asarray(x).ctypes.data and view.shape[:x.ndim] == list(shape)
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DLManaged(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def capsule(array, deleter, **changes):
    """Return a bare DLPack capsule over a NumPy array, and the objects to keep alive."""
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    m = DLManaged()
    m.tensor = DLTensor(array.ctypes.data, 1, 0, array.ndim, 2, 32, 1, shape, None, 0)
    for name, value in changes.items():
        setattr(m.tensor, name, value)
    m.deleter = ctypes.cast(deleter, ctypes.c_void_p)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                   ctypes.c_void_p]
    name = b"dltensor"
    return new(ctypes.addressof(m), name, None), (m, shape, name)


def test_capsule_with_a_byte_offset():
    deleted = []
    deleter = DELETER(deleted.append)
    a = np.arange(6, dtype=np.float32)
    shape = (ctypes.c_int64 * 1)(4)
    made, keep = capsule(a, deleter, byte_offset=8, shape=shape)
    x = df.from_dlpack(made)
    assert x.tolist() == [2., 3., 4., 5.] and not deleted
    del x
    gc.collect()
    assert len(deleted) == 1 and keep


@pytest.mark.parametrize("device", [2, 10, 0, -1])
def test_capsule_of_another_device_raises(device):
    deleter = DELETER(lambda _: None)
    made, keep = capsule(np.ones(2, np.float32), deleter, device_type=device)
    with pytest.raises(BufferError, match="device"):
        df.from_dlpack(made)
    assert keep


def test_misaligned_dlpack_memory_is_copied():
    """Kernels require aligned elements."""
    a = np.zeros(17, np.uint8)[1:].view(np.float32)
    a[:] = [1, 2, 3, 4]
    assert a.ctypes.data % 4
    for copied in (None, True):
        x = df.from_dlpack(a, copy=copied)
        assert x.numpy().ctypes.data % 4 == 0 and x.tolist() == [1, 2, 3, 4]
    with pytest.raises(BufferError, match="aligned"):
        df.from_dlpack(a, copy=False)


def test_strides_of_dimensions_of_size_one_are_ignored():
    """The stride of a dimension of size 1 is never used, so the memory is dense."""
    a = np.lib.stride_tricks.as_strided(np.arange(4.), (4, 1), (8, 999 * 8))
    assert df.from_dlpack(a, copy=False).tolist() == [[0.], [1.], [2.], [3.]]
