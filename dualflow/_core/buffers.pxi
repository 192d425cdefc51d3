# Import through the buffer protocol: dense copies of arrays of any strides, byte order and
# alignment. Called by convert.pxi, which handles lists and numbers. A tensor never shares memory
# with the exporter.

from cpython.buffer cimport PyBUF_FULL_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.string cimport strcmp

cdef extern from "Python.h":
    int PyBuffer_ToContiguous(void *buf, const Py_buffer *src, Py_ssize_t len, char order) except -1


cdef int parse_format(const char *format, Py_ssize_t itemsize, bint *swapped) except -2:
    """Return the dtype of a struct-module format, or -1; set `swapped` to True if big-endian."""
    cdef char c
    swapped[0] = False
    if format == NULL:
        return DF_U8
    c = format[0]
    if c in b"<>=!@^|":
        swapped[0] = c in (b">"[0], b"!"[0])       # all supported machines are little-endian
        format += 1
    if strcmp(format, b"Zf") == 0: return DF_C64
    if strcmp(format, b"Zd") == 0: return DF_C128
    if format[0] == 0 or format[1] != 0:
        return -1
    c = format[0]
    if c == b"?"[0]: return DF_BOOL
    if c == b"e"[0]: return DF_F16
    if c == b"f"[0]: return DF_F32
    if c == b"d"[0]: return DF_F64
    if c in b"BHILQN":
        if itemsize == 1: return DF_U8
        if itemsize == 2: return DF_U16
        if itemsize == 4: return DF_U32
        if itemsize == 8: return DF_U64
    if c in b"bhilqn":
        if itemsize == 1: return DF_I8
        if itemsize == 2: return DF_I16
        if itemsize == 4: return DF_I32
        if itemsize == 8: return DF_I64
    return -1


cdef Tensor acquire(value, Py_buffer *view, str caller):
    """Get the buffer of `value` and return None; without a buffer, return a copy of the array."""
    if hasattr(value, "mask") and hasattr(value, "filled"):
        raise _errors.DTypeError(
            f"{caller}: got a masked {type(value).__name__}; tensors have no mask, "
            "call filled() first")
    try:
        PyObject_GetBuffer(value, view, PyBUF_FULL_RO)
        return None
    except (BufferError, ValueError, NotImplementedError, TypeError) as exc:
        why = exc
    x = without_buffer(value, caller)
    if x is None:
        raise _errors.DTypeError(
            f"{caller}: got a {type(value).__name__} "
            f"(dtype {getattr(value, 'dtype', 'unknown')}) that exports no buffer: {why}")
    return x


cdef Tensor without_buffer(value, str caller):
    """Return a copy of an array whose dtype has no buffer format, such as bfloat16 of other
    packages: through DLPack or, if that lacks the dtype too (NumPy), through its bits. None if
    neither works."""
    cdef Tensor x
    if hasattr(value, "__dlpack__"):
        try:
            return from_dlpack(value, copy=True)
        except BufferError:
            pass
    if str(getattr(value, "dtype", None)) != "bfloat16":
        return None
    x = from_buffer(value.view("int16"), caller)
    if x.t.dtype != DF_I16:
        return None
    x.t.dtype = DF_BF16                 # not shared yet
    return x


cdef object unknown_format(value, Py_buffer *view, str caller):
    dtype = getattr(value, "dtype", view.format.decode("latin-1"))
    return _errors.DTypeError(f"{caller}: got an array of dtype {dtype}; "
                              f"dualflow has {', '.join(map(str, DTYPES))}")


cdef Tensor from_buffer(value, str caller):
    """Return a copy of an object with the buffer protocol: strided, read-only or byte-swapped, too.
    """
    cdef Py_buffer view
    cdef bint swapped = False
    cdef int dtype
    cdef Tensor x
    x = acquire(value, &view, caller)
    if x is not None:
        return x
    try:
        dtype = parse_format(view.format, view.itemsize, &swapped)
        if dtype >= 0 and view.itemsize != df_dtypes[dtype].bytes:
            dtype = -1
        if dtype < 0:
            raise unknown_format(value, &view, caller)
        x = copy_buffer(&view, <df_dtype>dtype, caller)
        if swapped and view.itemsize > 1:
            df_swap_bytes(x.t.data, df_tensor_bytes(&x.t) // df_dtypes[
                <int>df_real_dtype(<df_dtype>dtype)].bytes,
                          df_dtypes[<int>df_real_dtype(<df_dtype>dtype)].bytes)
        if dtype == DF_BOOL:
            df_normalize_bools(<uint8_t *>x.t.data, x.t.size)
        return x
    finally:
        PyBuffer_Release(&view)


cdef Tensor copy_buffer(Py_buffer *view, df_dtype dtype, str caller):
    cdef int64_t dims[254]
    cdef int64_t strides[254]
    cdef int d
    cdef Tensor x
    if view.ndim > DF_MAX_NDIM:
        raise _errors.ShapeError(f"{caller}: rank {view.ndim} is above {DF_MAX_NDIM}")
    for d in range(view.ndim - 1, -1, -1):
        dims[d] = view.shape[d] if view.shape != NULL else view.len // view.itemsize
        strides[d] = (view.strides[d] if view.strides != NULL
                      else view.itemsize if d == view.ndim - 1 else strides[d + 1] * dims[d + 1])
    x = new_tensor(dtype, view.ndim, dims, b"constant")
    if view.suboffsets != NULL:
        PyBuffer_ToContiguous(x.t.data, view, view.len, b"C"[0])
    elif x.t.size:
        fill_strided(x, view.buf, strides)
    return x
