# Tensor: a dense, immutable block. TensorBase carries the operators for it, for Variable and for
# whatever else stands for a tensor.

cdef uint64_t last_id = 0          # every tensor and variable has a number of its own
cdef dict METHODS = {}             # behaviour composed of ops, bound from above


def bind(**methods):
    """Binds behaviour that is composed of ops to the tensor classes (used by dualflow.ops)."""
    METHODS.update(methods)


cdef class TensorBase:
    """What Tensor, Variable and symbolic tensors share: Python's operators, each applying an op."""

    __array_ufunc__ = None          # so that `array + tensor` comes to __radd__
    __array_priority__ = 100

    def __add__(self, other): return binary(OP_ADD, self, other)
    def __radd__(self, other): return binary(OP_ADD, other, self)
    def __sub__(self, other): return binary(OP_SUBTRACT, self, other)
    def __rsub__(self, other): return binary(OP_SUBTRACT, other, self)
    def __mul__(self, other): return binary(OP_MULTIPLY, self, other)
    def __rmul__(self, other): return binary(OP_MULTIPLY, other, self)
    def __truediv__(self, other): return binary(OP_DIVIDE, self, other)
    def __rtruediv__(self, other): return binary(OP_DIVIDE, other, self)
    def __floordiv__(self, other): return binary(OP_FLOORDIV, self, other)
    def __rfloordiv__(self, other): return binary(OP_FLOORDIV, other, self)
    def __mod__(self, other): return binary(OP_FLOORMOD, self, other)
    def __rmod__(self, other): return binary(OP_FLOORMOD, other, self)
    def __pow__(self, other, modulo): return power(self, other)
    def __rpow__(self, other, modulo): return binary(OP_POW, other, self)
    def __matmul__(self, other): return METHODS["matmul"](self, other)
    def __rmatmul__(self, other): return METHODS["matmul"](other, self)
    def __and__(self, other): return METHODS["and"](self, other)
    def __rand__(self, other): return METHODS["and"](other, self)
    def __or__(self, other): return METHODS["or"](self, other)
    def __ror__(self, other): return METHODS["or"](other, self)
    def __xor__(self, other): return METHODS["xor"](self, other)
    def __rxor__(self, other): return METHODS["xor"](other, self)
    def __lshift__(self, other): return binary(OP_LEFT_SHIFT, self, other)
    def __rlshift__(self, other): return binary(OP_LEFT_SHIFT, other, self)
    def __rshift__(self, other): return binary(OP_RIGHT_SHIFT, self, other)
    def __rrshift__(self, other): return binary(OP_RIGHT_SHIFT, other, self)
    def __invert__(self): return METHODS["invert"](self)
    def __neg__(self): return unary(OP_NEGATIVE, self)
    def __pos__(self): return self
    def __abs__(self): return unary(OP_ABS, self)
    def __lt__(self, other): return binary(OP_LESS, self, other)
    def __le__(self, other): return binary(OP_LESS_EQUAL, self, other)
    def __gt__(self, other): return binary(OP_GREATER, self, other)
    def __ge__(self, other): return binary(OP_GREATER_EQUAL, self, other)
    def __eq__(self, other): return equality(OP_EQUAL, self, other)
    def __ne__(self, other): return equality(OP_NOT_EQUAL, self, other)
    def __hash__(self): return <Py_ssize_t><void *>self >> 4
    def __getitem__(self, key): return METHODS["getitem"](self, key)

    def __setitem__(self, key, value):
        raise TypeError("a tensor never changes: use dualflow.tensor_scatter_nd_update for a new "
                        "one, or a Variable and its assign")
    def __round__(self, ndigits=None): return METHODS["round"](self, ndigits)

    @property
    def T(self):
        """The transpose: all dimensions reversed."""
        return METHODS["transpose"](self)


cdef object power(a, b):
    """a ** b. Squares of floats are products, as in NumPy: exact, a tenth of the time of pow."""
    cdef int dtype
    kind = type(hint_of(b))
    if (kind is int or kind is float) and isinstance(a, (Tensor, Variable)):
        dtype = (<object>a.dtype).index
        if (dtype == DF_F32 or dtype == DF_F64) and b == 2:
            return unary(OP_SQUARE, a)
    return binary(OP_POW, a, b)


cdef extern from "Python.h":
    object PyTuple_New(Py_ssize_t n)
    void PyTuple_SET_ITEM(object t, Py_ssize_t i, object item)


cdef tuple dims_tuple(int ndim, const int64_t *dims):
    """Dimensions as Python sees them: None is one that is not known."""
    cdef tuple shape = PyTuple_New(ndim)
    cdef int i
    for i in range(ndim):
        d = None if dims[i] < 0 else PyLong_FromLongLong(dims[i])
        Py_INCREF(d)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(shape, i, d)
    return shape


cdef tuple shape_tuple(const df_tensor *t):
    return dims_tuple(t.ndim, t.shape)


cdef tuple spec_shape(shape):
    """The shape of a TensorSpec from what somebody gave."""
    cdef list dims = []
    cdef object wanted = "want a sequence of sizes, each an int of 0 or more, or None"
    try:
        for d in shape:
            dims.append(None if d is None else PyNumber_Index(d))
    except TypeError as exc:
        if isinstance(exc, _errors.DualflowError):
            raise
        raise _errors.DTypeError(
            f"TensorSpec: shape is {_arguments.shown(shape)}, {wanted}") from None
    for d in dims:
        if d is not None and d < 0:
            raise _errors.ShapeError(f"TensorSpec: shape is {_arguments.shown(shape)}, {wanted}")
    if len(dims) > DF_MAX_NDIM:
        raise _errors.ShapeError(
            f"TensorSpec: shape has {len(dims)} dimensions, want at most {DF_MAX_NDIM}")
    return tuple(dims)


@cython.final
cdef class TensorSpec:
    """Dtype and shape without data.

    Parameters
    ----------
    shape : sequence of int or None
        None is a dimension that is not known.
    dtype : dtype, default float32
    name : str, optional

    Examples
    --------
    >>> import dualflow as df
    >>> df.TensorSpec([None, 3], df.float32)
    TensorSpec(shape=(None, 3), dtype=float32)
    """
    cdef readonly tuple shape
    cdef readonly object dtype
    cdef readonly object name

    def __init__(self, shape, dtype="float32", name=None):
        if self.shape is not None:
            raise TypeError(f"{self} is made already")
        self.shape = spec_shape(shape)
        self.dtype = _dtypes.as_dtype(dtype)
        self.name = name

    @property
    def ndim(self):
        return len(self.shape)

    def __repr__(self):
        name = f", name={self.name!r}" if self.name else ""
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}{name})"

    def __eq__(self, other):
        return (isinstance(other, TensorSpec) and self.shape == other.shape
                and self.dtype is other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __reduce__(self):
        return TensorSpec, (self.shape, self.dtype, self.name)


cdef class Tensor(TensorBase):
    """A dense, immutable array of one dtype.

    Made by ops and by `dualflow.constant`, never directly. Attributes: `shape` (tuple of int),
    `dtype`, `ndim`, `size`. Slicing the first dimension shares memory; everything else copies.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[1., 2.], [3., 4.]])
    >>> (x @ x).numpy().tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """
    cdef df_tensor t
    cdef uint64_t id
    cdef bint watch            # value of a trainable variable: tapes watch it unasked
    cdef object __weakref__

    def __cinit__(self):
        global last_id
        df_tensor_init(&self.t)
        last_id += 1
        self.id = last_id

    def __dealloc__(self):
        df_tensor_clear(&self.t)

    @property
    def shape(self):
        """The dimensions, a tuple of int."""
        return shape_tuple(&self.t)

    @property
    def dtype(self):
        """The element type."""
        return DTYPES[<int>self.t.dtype]

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.t.ndim

    @property
    def size(self):
        """The number of elements."""
        return self.t.size

    @property
    def nbytes(self):
        """Bytes of data."""
        return df_tensor_bytes(&self.t)

    def __len__(self):
        if self.t.ndim == 0:
            raise TypeError("len() of a tensor with shape ()")
        return self.t.shape[0]

    def __iter__(self):
        if self.t.ndim == 0:
            raise TypeError("iteration over a tensor with shape ()")
        rows = []
        for i in range(self.t.shape[0]):
            rows.append(self[i])
        return iter(rows)

    def __contains__(self, item):
        return METHODS["contains"](self, item)

    def __bool__(self):
        return bool(scalar_item(self, "bool()"))

    def __int__(self):
        return int(scalar_item(self, "int()"))

    def __float__(self):
        return float(scalar_item(self, "float()"))

    def __index__(self):
        if self.t.ndim != 0 or df_dtypes[<int>self.t.dtype].kind != DF_KIND_INT:
            raise TypeError(f"an index wants an integer tensor of shape (), got {describe(self)}")
        return scalar_item(self, "index")

    def item(self):
        """The value of a tensor with one element as a Python bool, int or float."""
        return scalar_item(self, "item()")

    def numpy(self):
        """The data as a read-only NumPy array that shares memory and keeps it alive."""
        return to_numpy(self)

    def tolist(self):
        """The data as nested Python lists."""
        return METHODS["tolist"](self)

    def __repr__(self):
        return METHODS["repr"](self)

    def __format__(self, str spec not None):
        if self.t.ndim == 0:
            return format(scalar_item(self, "format()"), spec)
        return format(str(self), spec)

    def __reduce_ex__(self, protocol):
        return rebuild, (self.dtype.name, self.shape, raw_bytes(self, protocol))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __array__(self, dtype=None, copy=None):
        return to_array(self, dtype, copy)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return DL_CPU, 0

    def __getbuffer__(self, Py_buffer *view, int flags):
        export_buffer(self, view, flags)

    def __releasebuffer__(self, Py_buffer *view):
        PyMem_Free(view.internal)


cdef str describe(Tensor x):
    return f"{x.dtype} {x.shape}"


cdef object scalar_item(Tensor x, str asked):
    """The one element of `x` as a Python number."""
    cdef void *p = x.t.data
    if x.t.size != 1:
        raise _errors.InvalidArgumentError(
            f"{asked} wants a tensor with one element, got {describe(x)}")
    if x.t.dtype == DF_F32: return (<float *>p)[0]
    if x.t.dtype == DF_F64: return (<double *>p)[0]
    if x.t.dtype == DF_I32: return (<int32_t *>p)[0]
    if x.t.dtype == DF_I64: return (<int64_t *>p)[0]
    if x.t.dtype == DF_BOOL: return (<uint8_t *>p)[0] != 0
    if x.t.dtype == DF_U8: return (<uint8_t *>p)[0]
    if x.t.dtype == DF_I8: return (<int8_t *>p)[0]
    if x.t.dtype == DF_I16: return (<int16_t *>p)[0]
    return df_half_to_f32((<uint16_t *>p)[0], x.t.dtype)


cdef Tensor new_tensor(df_dtype dtype, int ndim, const int64_t *shape, const char *op):
    """A tensor with uninitialised memory."""
    cdef df_error err
    cdef Tensor x = Tensor.__new__(Tensor)
    check(df_tensor_set(&x.t, dtype, ndim, shape, op, &err), &err)
    check(df_tensor_alloc(&x.t, op, &err), &err)
    return x


def filled(value, like):
    """A tensor of the dtype and shape of `like` (Tensor or TensorSpec) with `value` everywhere."""
    cdef int64_t dims[254]
    cdef int ndim, d
    cdef df_dtype dtype
    cdef Tensor x
    cdef char *data
    cdef int64_t i, step
    if df_trace_top != NULL and type(like) is Symbol and (<Symbol>like).from_data:
        return filled_like(value, <Symbol>like)
    if df_trace_top != NULL and isinstance(like, (Symbol, Variable)):
        x = scalar_tensor(value, <df_dtype>(<int>like.dtype.index), "filled")
        return apply_by_name("broadcast_to", (x,), {"shape": like.shape})
    if type(like) is Tensor:
        x = <Tensor>like
        x = new_tensor(x.t.dtype, x.t.ndim, x.t.shape, b"filled")
    else:
        shape = like.shape
        ndim = <int>len(shape)
        for d in range(ndim):
            dims[d] = shape[d]
        x = new_tensor(<df_dtype>(<int>(like.dtype.index)), ndim, dims, b"filled")
    if x.t.size == 0:
        return x
    dtype = x.t.dtype
    store_number(x, 0, value, "filled")
    step = df_dtypes[<int>dtype].bytes
    data = <char *>x.t.data
    for i in range(1, x.t.size):
        memcpy(data + i * step, data, step)
    return x


cdef Tensor filled_like(value, Symbol like):
    """0 or 1 everywhere, made from elements of `like`, whose sizes only a run knows."""
    same = apply_by_name("equal", (like, like), {})              # false where there is a NaN
    bits = apply_by_name("equal" if value else "not_equal", (same, same), {})
    return cast_to(bits, like.t.dtype)


cdef Tensor share(Tensor x, int64_t offset, df_dtype dtype, int ndim, const int64_t *shape,
                  const char *op):
    """A tensor that looks at the memory of `x` from byte `offset` on."""
    cdef df_error err
    cdef Tensor y = Tensor.__new__(Tensor)
    check(df_tensor_set(&y.t, dtype, ndim, shape, op, &err), &err)
    y.t.buffer = x.t.buffer
    y.t.data = <char *>x.t.data + offset
    df_buffer_retain(y.t.buffer)
    return y
