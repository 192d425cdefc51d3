# Python objects in: numbers (weak or not), nested lists, anything with the buffer protocol.

from cpython.buffer cimport (
    PyBUF_FULL_RO, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer,
)


cdef Tensor scalar_tensor(value, df_dtype dtype, str who):
    """A tensor of shape () from a Python bool, int or float; checks that the number fits."""
    cdef Tensor x = new_tensor(dtype, 0, NULL, b"constant")
    store_number(x, 0, value, who)
    return x


cdef int store_number(Tensor x, int64_t at, value, str who) except -1:
    """Writes a Python number at element `at` of a tensor that nobody has seen yet."""
    cdef void *p = x.t.data
    cdef df_dtype dtype = x.t.dtype
    cdef long long i
    if dtype == DF_F32:
        (<float *>p)[at] = <float><double>value
        return 0
    if dtype == DF_F64:
        (<double *>p)[at] = value
        return 0
    if dtype == DF_BOOL:
        (<uint8_t *>p)[at] = 1 if value else 0
        return 0
    if isinstance(value, float):
        raise _errors.DTypeError(f"{who}: got the float {value!r}, want {x.dtype}; cast it first")
    try:
        i = value
        if dtype == DF_I64:
            (<int64_t *>p)[at] = i
        elif dtype == DF_I32 and -0x80000000 <= i <= 0x7fffffff:
            (<int32_t *>p)[at] = <int32_t>i
        elif dtype == DF_I16 and -0x8000 <= i <= 0x7fff:
            (<int16_t *>p)[at] = <int16_t>i
        elif dtype == DF_I8 and -0x80 <= i <= 0x7f:
            (<int8_t *>p)[at] = <int8_t>i
        elif dtype == DF_U8 and 0 <= i <= 0xff:
            (<uint8_t *>p)[at] = <uint8_t>i
        else:
            raise OverflowError
    except OverflowError:
        raise _errors.SizeOverflowError(f"{who}: {value} does not fit {x.dtype}") from None
    return 0


cdef bint is_number(value):
    return isinstance(value, (bool, int, float))


cdef df_dtype number_dtype(value):
    """The dtype a Python number has on its own."""
    if isinstance(value, bool):
        return DF_BOOL
    if isinstance(value, int):
        return DF_I32 if -0x80000000 <= value <= 0x7fffffff else DF_I64
    return DF_F32


cdef df_dtype weak_dtype(value, df_dtype dtype):
    """The dtype a Python number takes beside tensors of `dtype`: theirs, if its kind allows."""
    cdef df_kind kind = df_dtypes[<int>dtype].kind
    if isinstance(value, bool) or kind == DF_KIND_FLOAT:
        return dtype
    if isinstance(value, int):
        return dtype if kind == DF_KIND_INT else number_dtype(value)
    return DF_F32


cdef Tensor cast_to(Tensor x, df_dtype dtype):
    if x.t.dtype == dtype:
        return x
    return <Tensor>apply_by_name("cast", (x,), {"dtype": _dtypes.ALL[<int>dtype]})


def as_tensor(value, dtype=None, who="convert_to_tensor"):
    """`value` as a Tensor (a Variable gives its value); arrays and lists are copied."""
    cdef Tensor x
    cdef int wanted
    if type(value) is Tensor:
        x = <Tensor>value
    elif isinstance(value, Variable):
        x = (<Variable>value).value_
    else:
        return to_tensor(value, dtype, who)
    if dtype is None:
        return x
    wanted = (<object>_dtypes.as_dtype(dtype)).index
    if <int>x.t.dtype != wanted:
        raise _errors.DTypeError(
            f"{who}: got a tensor of {x.dtype}, want {_dtypes.as_dtype(dtype)}; use cast")
    return x


cdef Tensor to_tensor(value, dtype, str who):
    """A new tensor from a number, nested lists or a buffer; `dtype` None: what it has."""
    cdef int wanted = -1 if dtype is None else (<object>_dtypes.as_dtype(dtype)).index
    cdef df_dtype own
    cdef Tensor x
    if is_number(value):
        own = number_dtype(value) if wanted < 0 else <df_dtype>wanted
        if own == DF_F16 or own == DF_BF16:
            return cast_to(scalar_tensor(value, DF_F32, who), own)
        return scalar_tensor(value, own, who)
    if isinstance(value, (list, tuple, range)):
        return from_sequence(value, wanted, who)
    if isinstance(value, (str, bytes, bytearray, complex)):
        raise _errors.DTypeError(f"{who}: got {value!r} of type {type(value).__name__}, want numbers")
    if PyObject_CheckBuffer(value):
        x = from_buffer(value, who)
    elif hasattr(value, "__dlpack__"):
        x = METHODS["from_dlpack"](value)
    elif hasattr(value, "__array__"):
        x = from_buffer(value.__array__(), who)
    elif hasattr(value, "__float__") or hasattr(value, "__index__"):
        return to_tensor(value.__index__() if hasattr(value, "__index__") else float(value),
                         dtype, who)
    else:
        raise _errors.DTypeError(
            f"{who}: got an object of type {type(value).__name__}, "
            "want a tensor, a number, nested lists of numbers or an array")
    return x if wanted < 0 else cast_to(x, <df_dtype>wanted)


def constant(value, dtype=None, who="constant"):
    """A tensor that holds a copy of `value`, cast to `dtype` if one is given."""
    cdef Tensor x
    cdef int wanted
    if type(value) is Tensor or isinstance(value, Variable):
        x = as_tensor(value)
        wanted = x.t.dtype if dtype is None else (<object>_dtypes.as_dtype(dtype)).index
        return cast_to(x, <df_dtype>wanted)
    return to_tensor(value, dtype, who)


# --- nested lists -------------------------------------------------------------------------------

cdef int measure(value, list shape, int depth, str who) except -1:
    """Appends the lengths of nested sequences to `shape`, looking at the first element of each."""
    while isinstance(value, (list, tuple, range)):
        depth += 1
        if depth > DF_MAX_NDIM:
            raise _errors.ShapeError(
                f"{who}: lists are nested more than {DF_MAX_NDIM} deep, the highest rank there is")
        shape.append(len(value))
        if len(value) == 0:
            return 0
        value = value[0]
    return 0


cdef list flatten(value, list shape, str who):
    """The numbers of nested sequences in row-major order; raggedness is an error."""
    cdef list level = [value]
    cdef list below
    cdef Py_ssize_t want
    for d, want in enumerate(shape):
        below = []
        for item in level:
            if not isinstance(item, (list, tuple, range)):
                raise _errors.ShapeError(
                    f"{who}: ragged lists: at depth {d} a {type(item).__name__} stands where "
                    f"a list of {want} was expected")
            if len(item) != want:
                raise _errors.ShapeError(
                    f"{who}: ragged lists: at depth {d} one has {len(item)} items, "
                    f"the first has {want}")
            below.extend(item)
        level = below
    return level


cdef Tensor from_sequence(value, int wanted, str who):
    cdef list shape = [], leaves
    cdef df_dtype dtype
    cdef Py_ssize_t i
    cdef Tensor x
    measure(value, shape, 0, who)
    leaves = flatten(value, shape, who)
    for leaf in leaves:
        if not is_number(leaf):
            return pack_leaves(leaves, shape, wanted, who)
    if wanted >= 0:
        dtype = <df_dtype>wanted
    elif not leaves:
        dtype = DF_F32
    else:
        dtype = number_dtype(leaves[0])
        for leaf in leaves:
            dtype = df_promote(dtype, number_dtype(leaf))
    x = empty(DF_F32 if dtype in (DF_F16, DF_BF16) else dtype, shape)
    for i in range(len(leaves)):
        store_number(x, i, leaves[i], who)
    return cast_to(x, dtype)


cdef Tensor pack_leaves(list leaves, list shape, int wanted, str who):
    """Lists that hold tensors or arrays: the leaves are stacked, then given the outer shape."""
    cdef list parts = []
    cdef tuple inner
    for leaf in leaves:
        if isinstance(leaf, (list, tuple, range)):
            raise _errors.ShapeError(f"{who}: ragged lists: a list of {len(leaf)} items stands "
                                     "where a number was expected")
        parts.append(as_tensor(leaf, None, who))
    inner = (<Tensor>parts[0]).shape
    x = apply_by_name("stack", tuple(parts), {"axis": 0})
    x = apply_by_name("reshape", (x,), {"shape": tuple(shape) + inner})
    return x if wanted < 0 else cast_to(x, <df_dtype>wanted)


cdef Tensor empty(df_dtype dtype, list shape):
    cdef int64_t dims[254]
    cdef Py_ssize_t i
    for i in range(len(shape)):
        dims[i] = shape[i]
    return new_tensor(dtype, <int>len(shape), dims, b"constant")


# --- buffers ------------------------------------------------------------------------------------

cdef int parse_format(const char *format, Py_ssize_t itemsize, bint *swapped) except -2:
    """The dtype of a struct-module format, or -1; sets whether bytes are in the other order."""
    cdef char c
    swapped[0] = False
    if format == NULL:
        return DF_U8
    c = format[0]
    if c in b"<>=!@^|":
        swapped[0] = c in (b">"[0], b"!"[0])       # every machine we build for is little-endian
        format += 1
    if format[0] == 0 or format[1] != 0:
        return -1
    c = format[0]
    if c == b"?"[0]: return DF_BOOL
    if c == b"e"[0]: return DF_F16
    if c == b"f"[0]: return DF_F32
    if c == b"d"[0]: return DF_F64
    if c == b"B"[0]: return DF_U8
    if c in b"bhilqn":
        if itemsize == 1: return DF_I8
        if itemsize == 2: return DF_I16
        if itemsize == 4: return DF_I32
        if itemsize == 8: return DF_I64
    return -1


cdef Tensor from_buffer(value, str who):
    """A copy of anything with the buffer protocol: strided, read-only or byte-swapped arrays too."""
    cdef Py_buffer view
    cdef bint swapped = False
    cdef int dtype
    cdef int64_t dims[254]
    cdef int d
    cdef Tensor x
    try:
        PyObject_GetBuffer(value, &view, PyBUF_FULL_RO)
    except (BufferError, ValueError, NotImplementedError) as exc:
        raise _errors.DTypeError(
            f"{who}: got a {type(value).__name__} "
            f"(dtype {getattr(value, 'dtype', 'unknown')}) that exports no buffer: {exc}") from None
    try:
        dtype = parse_format(view.format, view.itemsize, &swapped)
        if dtype < 0:
            raise _errors.DTypeError(
                f"{who}: got an array of dtype {getattr(value, 'dtype', view.format.decode())}; "
                f"dualflow has {', '.join([d.name for d in _dtypes.ALL])}")
        if view.ndim > DF_MAX_NDIM:
            raise _errors.ShapeError(f"{who}: rank {view.ndim} is above {DF_MAX_NDIM}")
        for d in range(view.ndim):
            dims[d] = view.shape[d]
        x = new_tensor(<df_dtype>dtype, view.ndim, dims, b"constant")
        copy_strided(<char *>x.t.data, &view)
        if swapped and view.itemsize > 1:
            swap_bytes(<char *>x.t.data, x.t.size, view.itemsize)
        if dtype == DF_BOOL:
            normalize_bools(<uint8_t *>x.t.data, x.t.size)
        return x
    finally:
        PyBuffer_Release(&view)


cdef extern from "Python.h":
    int PyBuffer_ToContiguous(void *buf, const Py_buffer *src, Py_ssize_t len, char order) except -1


cdef int copy_strided(char *to, Py_buffer *view) except -1:
    if view.len:
        PyBuffer_ToContiguous(to, view, view.len, b"C"[0])
    return 0


cdef void swap_bytes(char *p, int64_t n, Py_ssize_t itemsize) noexcept nogil:
    cdef int64_t i
    cdef Py_ssize_t a, b
    cdef char c
    for i in range(n):
        a = 0
        b = itemsize - 1
        while a < b:
            c = p[a]
            p[a] = p[b]
            p[b] = c
            a += 1
            b -= 1
        p += itemsize


cdef void normalize_bools(uint8_t *p, int64_t n) noexcept nogil:
    """Foreign bool arrays may hold any byte; kernels rely on 0 and 1."""
    cdef int64_t i
    for i in range(n):
        p[i] = p[i] != 0
