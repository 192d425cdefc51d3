# Export of tensors: the buffer protocol, NumPy arrays, pickles; also import of the feeds of a
# session. Exports are read-only and share memory, except copies and the arrays of `arrays_of`.
# Writable memory is exported only if it has no other owner.


from cpython.buffer cimport (
    PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDES, PyBUF_WRITABLE,
)

cdef extern from "Python.h":
    object PyPickleBuffer_FromObject(object base)

cdef enum:
    NUMPY_NDIM = 64            # the maximal rank of memoryview and of NumPy 2


cdef inline bint has_format(df_dtype dtype):
    """Return True if the buffer protocol has a format for a dtype."""
    return df_dtypes[<int>dtype].format[0] != 0


cdef bint is_fortran(Tensor x):
    """Return True if column-major order is the same: at most one dimension is above 1."""
    cdef int d, long_dims = 0
    for d in range(x.t.ndim):
        long_dims += x.t.shape[d] > 1
    return long_dims <= 1 or x.t.size == 0


cdef int export_buffer(Tensor x, Py_buffer *view, int flags) except -1:
    cdef Py_ssize_t step = df_dtypes[<int>x.t.dtype].bytes
    cdef Py_ssize_t *strides
    cdef int d
    if flags & PyBUF_WRITABLE:
        raise BufferError("tensors are immutable: ask for a read-only buffer")
    if not has_format(x.t.dtype):
        raise BufferError(f"{dtype_of(x)} has no buffer format; cast to float32 first")
    if flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS and not is_fortran(x):
        raise BufferError(f"{describe(x)} is row-major, not Fortran contiguous")
    strides = <Py_ssize_t *>PyMem_Malloc((x.t.ndim + 1) * sizeof(Py_ssize_t))
    if strides == NULL:
        raise MemoryError()
    for d in range(x.t.ndim - 1, -1, -1):
        strides[d] = step
        step *= x.t.shape[d]
    view.obj = x
    view.buf = x.t.data
    view.len = df_tensor_bytes(&x.t)
    view.itemsize = df_dtypes[<int>x.t.dtype].bytes
    view.readonly = 1
    view.ndim = x.t.ndim if flags & PyBUF_ND else 1
    view.format = <char *>df_dtypes[<int>x.t.dtype].format if flags & PyBUF_FORMAT else NULL
    view.shape = <Py_ssize_t *>x.t.shape if flags & PyBUF_ND else NULL
    view.strides = strides if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
    view.suboffsets = NULL
    view.internal = strides
    return 0


cdef object to_numpy(Tensor x):
    import numpy as np          # imported at the first use

    if x.t.ndim > NUMPY_NDIM:
        raise _errors.ShapeError(
            f"numpy(): rank {x.t.ndim}, NumPy has at most {NUMPY_NDIM}; reshape first")
    dtype = dtype_of(x).as_numpy_dtype
    if not has_format(x.t.dtype):       # NumPy reads the bits under the dtype of ml_dtypes
        x = share(x, 0, DF_I16, x.t.ndim, x.t.shape, b"numpy")
    # If no buffer can be allocated, `asarray` would read the view as a sequence of numbers.
    return np.ndarray(shape_tuple(&x.t), dtype, memoryview(x))


@cython.final
cdef class WritableBuffer:
    """Exporter of a writable buffer over a tensor that has no other owner."""
    cdef Tensor x

    def __getbuffer__(self, Py_buffer *view, int flags):
        export_buffer(self.x, view, flags & ~PyBUF_WRITABLE)
        view.readonly = 0
        view.obj = self

    def __releasebuffer__(self, Py_buffer *view):
        PyMem_Free(view.internal)


cdef list numpy_scalars = []           # NumPy's scalar types, in the order of dtypes


def arrays_of(list tensors not None):
    """Return writable NumPy arrays for tensors; NumPy scalars for tensors of shape ().

    An array takes over the memory of a tensor without another owner, so the caller must not use the
    tensors of the list afterwards.
    """
    import numpy as np

    cdef list arrays = []
    cdef WritableBuffer exporter
    cdef Tensor x
    if not numpy_scalars:
        for dtype in _dtypes.ALL:
            numpy_scalars.append(dtype.as_numpy_dtype.type if dtype.is_numpy_compatible else None)
    for item in tensors:
        x = <Tensor?>item
        if not has_format(x.t.dtype):
            arrays.append(np.array(to_numpy(x))[()])
        elif x.t.ndim == 0:
            arrays.append(numpy_scalars[<int>x.t.dtype](scalar_item(x, "run")))
        else:
            exporter = WritableBuffer.__new__(WritableBuffer)
            # three references: the list, `item` and `x`
            exporter.x = x if Py_REFCNT(x) <= 3 and df_buffer_is_exclusive(
                x.t.buffer) else duplicate(x)
            arrays.append(np.asarray(exporter))
    return arrays


cdef Tensor quickly_fed(value, df_dtype dtype):
    """Convert a float, a tensor or a row-major array of this dtype; None for other values."""
    cdef Py_buffer view
    cdef Tensor x = None
    cdef int64_t dims[8]
    cdef int d
    if type(value) is Tensor:
        return <Tensor>value if (<Tensor>value).t.dtype == dtype else None
    if type(value) is float:
        return scalar_tensor(value, dtype, "feed") if df_is_float(dtype) else None
    if dtype == DF_BOOL or isinstance(value, TensorBase) or not PyObject_CheckBuffer(value):
        return None
    try:
        PyObject_GetBuffer(value, &view, PyBUF_ND | PyBUF_FORMAT)
    except (BufferError, ValueError):
        return None
    if view.format != NULL and strcmp(view.format, df_dtypes[<int>dtype].format) == 0 \
            and view.ndim <= 8:
        for d in range(view.ndim):
            dims[d] = view.shape[d]
        x = new_tensor(dtype, view.ndim, dims, b"feed")
        if view.len:
            memcpy(x.t.data, view.buf, view.len)
    PyBuffer_Release(&view)
    return x


def fed_tensors(values, list dtypes not None, list fits not None):
    """Return the tensors of fed values, and the tuple of their shapes.

    Parameters
    ----------
    values : iterable
    dtypes : list of int
        The index of the dtype of each tensor.
    fits : list of callable
        Converters, for values that are neither floats nor arrays of that dtype.
    """
    cdef list made = []
    cdef list shapes = []
    cdef Tensor x
    cdef Py_ssize_t k = 0
    for value in values:
        x = quickly_fed(value, <df_dtype>(<int>dtypes[k]))
        if x is None:
            x = <Tensor?>fits[k](value)
        made.append(x)
        shapes.append(shape_tuple(&x.t))
        k += 1
    return made, tuple(shapes)


cdef object to_array(Tensor x, dtype, copy):
    array = to_numpy(x)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to turn {describe(x)} into {dtype}")
        return array.astype(dtype)
    return array.copy() if copy else array


cdef object raw_bytes(Tensor x, int protocol):
    """Return the data for a pickle: out of band if the protocol supports it, else a copy."""
    cdef int64_t n_bytes = df_tensor_bytes(&x.t)
    if protocol >= 5:
        return PyPickleBuffer_FromObject(share(x, 0, DF_U8, 1, &n_bytes, b"pickle"))
    return (<char *>x.t.data)[:n_bytes] if n_bytes else b""


def memory_of(Tensor x not None):
    """Return a memoryview that shares the bytes of a tensor."""
    return (<object>raw_bytes(x, 5)).raw()


def rebuild(str dtype not None, tuple shape not None, data):
    """Return the tensor that a pickle describes. The pickle is untrusted: its size is checked."""
    cdef Tensor x = empty(<df_dtype><int>(<object>_dtypes.as_dtype(dtype)).index, list(shape))
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len != df_tensor_bytes(&x.t):
            raise _errors.InvalidArgumentError(f"unpickling: {view.len} bytes for {describe(x)}")
        if view.len:
            memcpy(x.t.data, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    if x.t.dtype == DF_BOOL:
        df_normalize_bools(<uint8_t *>x.t.data, x.t.size)
    return x


rebuild.__module__ = "dualflow.ops"      # so that unpickling imports the methods of tensors
