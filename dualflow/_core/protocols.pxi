# Python protocols of tensors: operators, each of which applies an op, and access to the data.
# Every access goes through `concrete`, which raises for traced tensors.

# Alternatives to recommend if code needs the data of a traced tensor.
cdef dict INSTEAD = {
    "iteration": "a `for` statement with append in place of a comprehension, list() or unpacking, "
                 "dualflow.map_fn, or ops on the whole tensor",
    "`in`": "dualflow.reduce_any(x == item)",
    "bool()": "dualflow.where(condition, a, b) to choose between values, logical_and, logical_or "
              "and logical_not for `and`, `or` and `not`, maximum and minimum for max() and min(), "
              "debugging.assert_true for an assertion, or decide by a Python value",
    "int()": "dualflow.cast(x, dualflow.int64), or a Python number",
    "float()": "dualflow.cast(x, dualflow.float32), the op of dualflow in place of a function of "
               "`math` (dualflow.sin for math.sin), or a Python number",
    "use as an index, a length or in range()":
        "dualflow.gather(x, i), dualflow.range(n), or a Python int",
    "complex()": "ops on the tensor",
    ".item()": "the tensor itself, or return it from the function",
    ".numpy()": "ops of dualflow in its place; to see the numbers, dualflow.print(x), or return it "
                "from the function",
    ".tolist()": "the tensor itself, or return it from the function",
    "a NumPy function": "the op of the same name in dualflow",
    "DLPack": "ops of dualflow, or return it from the function",
    "its memory (the buffer protocol)": "ops of dualflow, or return it from the function",
    "pickling": "a result of the function",
}


cdef str UNCHANGING = ("a tensor never changes: use dualflow.tensor_scatter_nd_update for a new "
                       "one, or a Variable and v[...].assign(value)")


def bind(**methods):
    """Bind functions composed of ops to the tensor classes (called by dualflow.ops)."""
    METHODS.update(methods)


def bind_methods(type kind not None, type source not None):
    """Add the public methods and properties of class `source`, which are composed of ops, to
    TensorBase, Tensor or Variable."""
    if kind not in (TensorBase, Tensor, Variable):
        raise TypeError(f"expected TensorBase, Tensor or Variable, got {kind}")
    for name, method in vars(source).items():
        if not name.startswith("_"):
            df_add_to_type(kind, name, method)


cdef Tensor concrete(TensorBase x, str operation, str instead=None):
    """Return `x`, or the value of a variable, as a tensor with data. Raise if `x` is traced;
    `operation` is what needs the data, for the message."""
    if type(x) is Variable:
        x = read_variable(<Variable>x)
    if type(x) is Symbol:
        return <Tensor?>(<Symbol>x).graph.no_value(x, operation, instead or INSTEAD[operation])
    if df_tracing_observer != NULL:
        (<FrameObserver>df_tracing_observer).values_read[id(x)] = x
    return <Tensor>x


def array_for(TensorBase x not None, str operation not None, str instead not None):
    """Return the array of a tensor for an operation of NumPy. Raise if `x` is traced, and recommend
    `instead`."""
    return to_numpy(concrete(x, operation, instead))


cdef dict ufunc_operators = {}         # filled at the first use


cdef object ufunc_operator(ufunc):
    """Return the operator that a NumPy ufunc implements, as (method of the left operand, method of
    the right operand, True for a comparison), or None."""
    if not ufunc_operators:
        ufunc_operators.update(METHODS["operators"]())
    return ufunc_operators.get(ufunc)


cdef object operator_of_ufunc(tuple names, a, b):
    if isinstance(a, TensorBase):
        return getattr(a, names[0])(b)
    if names[2] and a.ndim == 0:
        a = a[()]               # NumPy has converted a scalar, which is weak, to an array
    return getattr(b, names[1])(a)


cdef extern from *:
    """
    /* Python cannot set attributes of extension types. Attribute lookups may be cached. */
    static int df_add_to_type(PyObject *type, PyObject *name, PyObject *value)
    {
        PyTypeObject *t = (PyTypeObject *)type;
        int failed = PyDict_SetItem(t->tp_dict, name, value);
        PyType_Modified(t);
        return failed;
    }
    """
    int df_add_to_type(object type, object name, object value) except -1


cdef class TensorBase:
    """Base class of Tensor, Variable and Symbol: operators, and access to the data."""

    __array_priority__ = 100

    def __array_ufunc__(self, ufunc, str method not None, *inputs, **kwargs):
        if method == "__call__" and not kwargs and len(inputs) == 2:
            names = ufunc_operator(ufunc)
            if names is not None:
                return operator_of_ufunc(<tuple>names, inputs[0], inputs[1])
        return METHODS["ufunc"](ufunc, method, inputs, kwargs)

    def __add__(self, other): return arithmetic(OP_ADD, self, other)
    def __radd__(self, other): return arithmetic(OP_ADD, other, self)
    def __sub__(self, other): return arithmetic(OP_SUBTRACT, self, other)
    def __rsub__(self, other): return arithmetic(OP_SUBTRACT, other, self)
    def __mul__(self, other): return arithmetic(OP_MULTIPLY, self, other)
    def __rmul__(self, other): return arithmetic(OP_MULTIPLY, other, self)
    def __truediv__(self, other): return binary(OP_DIVIDE, self, other)
    def __rtruediv__(self, other): return binary(OP_DIVIDE, other, self)
    def __floordiv__(self, other): return arithmetic(OP_FLOORDIV, self, other)
    def __rfloordiv__(self, other): return arithmetic(OP_FLOORDIV, other, self)
    def __mod__(self, other): return arithmetic(OP_FLOORMOD, self, other)
    def __rmod__(self, other): return arithmetic(OP_FLOORMOD, other, self)
    def __divmod__(self, other): return self // other, self % other
    def __rdivmod__(self, other): return other // self, other % self
    def __pow__(self, other, modulo): return power(self, other)
    def __rpow__(self, other, modulo): return arithmetic(OP_POW, other, self)
    def __matmul__(self, other): return product(self, other)
    def __rmatmul__(self, other): return product(other, self)
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
    def __getitem__(self, key): return element(self, key)

    def __setitem__(self, key, value):
        raise TypeError(UNCHANGING)

    def __delitem__(self, key):
        raise TypeError(UNCHANGING)

    def __round__(self, ndigits=None): return METHODS["round"](self, ndigits)

    @property
    def T(self):
        """The transpose: all dimensions reversed."""
        return METHODS["transpose"](self)

    @property
    def mT(self):
        """The transpose of each matrix: the last two dimensions swapped."""
        return METHODS["matrix_transpose"](self)

    @property
    def device(self):
        """The device of the data: always the CPU, by TensorFlow's name."""
        if has_methods(self):
            raise AttributeError("device")          # so that Symbol.__getattr__ is called
        return "/device:CPU:0"

    def to_device(self, device, /, *, stream=None):
        """Return the tensor itself: there is only one `device`."""
        return METHODS["to_device"](self, device, stream)

    def __array_namespace__(self, *, api_version=None):
        return METHODS["array_namespace"](api_version)
    def get_shape(self):
        """Return the shape as a `TensorShape`, with None for sizes that are not known yet."""
        return METHODS["get_shape"](self)

    def set_shape(self, shape):
        """Check that the tensor may have a shape, in which None stands for an unknown size, and
        raise ValueError if not. In a traced function, sizes that are unknown stay unknown."""
        METHODS["set_shape"](self, shape)

    # --- access to the data ---

    def item(self):
        """Return the value of a tensor with one element as a Python bool, int, float or complex."""
        return scalar_item(concrete(self, ".item()"), "item()")

    def numpy(self):
        """Return the data as a read-only NumPy array, which shares the memory and keeps it alive;
        for a tensor of shape (), a NumPy scalar.

        Later assignments to a variable do not change the array.
        """
        array = to_numpy(concrete(self, ".numpy()"))
        return array[()] if array.ndim == 0 else array

    def tolist(self):
        """Return the data as nested Python lists."""
        return METHODS["tolist"](concrete(self, ".tolist()"))

    def __iter__(self):
        cdef TensorBase x = read_variable(<Variable>self) if type(self) is Variable else self
        cdef Py_ssize_t i, n
        if (<Tensor>x).t.ndim == 0 and not has_methods(x):
            raise TypeError("iteration over a tensor with shape ()")
        if type(x) is Symbol:
            n = (<Symbol>x).graph.unroll(x, INSTEAD["iteration"])
        else:
            n = (<Tensor>x).t.shape[0]
        rows = []
        for i in range(n):
            rows.append(x[i])
        return iter(rows)

    def __reversed__(self):
        return reversed(list(self))         # creates all rows at once, like `__iter__`

    def __contains__(self, item):
        return METHODS["contains"](concrete(self, "`in`"), item)

    def __bool__(self):
        cdef Tensor x = concrete(self, "bool()")
        if x.t.size != 1:
            raise _errors.InvalidArgumentError(
                f"bool(): the truth of {x.t.size} elements is ambiguous, {describe(x)}; use "
                "dualflow.reduce_any(x) or dualflow.reduce_all(x), & | ~ in place of and, or, not, "
                "and any(t is x for t in items) in place of x in items")
        return bool(scalar_item(x, "bool()"))

    def __int__(self):
        return int(real_item(concrete(self, "int()"), "int()"))

    def __trunc__(self):
        return int(self)

    def __float__(self):
        return float(real_item(concrete(self, "float()"), "float()"))

    def __complex__(self):
        return complex(scalar_item(concrete(self, "complex()"), "complex()"))

    def __index__(self):
        cdef Tensor x = concrete(self, "use as an index, a length or in range()")
        if x.t.ndim != 0 or df_dtypes[<int>x.t.dtype].kind != DF_KIND_INT:
            raise TypeError(f"an index must be an integer tensor of shape (), got {describe(x)}")
        return scalar_item(x, "index")

    def __dir__(self):
        return METHODS["dir"](object.__dir__(self))

    def __format__(self, str spec not None):
        return METHODS["format"](self, spec)

    def _repr_html_(self):
        return METHODS["html"](self)

    def __array__(self, dtype=None, copy=None):
        return to_array(concrete(self, "a NumPy function"), dtype, copy)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return to_dlpack(concrete(self, "DLPack"), stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return DL_CPU, 0


cdef object power(a, b):
    """Return a ** b. Squares of floats are products, as in NumPy: correctly rounded, and in a tenth
    of the time of pow."""
    cdef int dtype
    kind = type(hint_of(b))
    if (kind is int or kind is float) and isinstance(a, (Tensor, Variable)):
        dtype = (<object>a.dtype).index
        if (dtype == DF_F32 or dtype == DF_F64 or df_is_complex(<df_dtype>dtype)) and b == 2:
            return unary(OP_SQUARE, a)
    return arithmetic(OP_POW, a, b)


cdef class Tensor(TensorBase):
    """A dense, immutable array of one dtype.

    Created by ops and by `dualflow.constant`, never directly. Attributes: `shape` (tuple of int),
    `dtype`, `ndim`, `size`. Views (reshapes, slices of the first dimension) share memory.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[1., 2.], [3., 4.]])
    >>> (x @ x).numpy().tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """
    def __cinit__(self):
        global last_id
        df_tensor_init(&self.t)
        last_id += 1
        self.id = last_id

    def __dealloc__(self):
        Py_XDECREF(self.slice_of)
        df_tensor_clear(&self.t)

    @property
    def shape(self):
        """The dimensions, a tuple of int, as a `Shape`."""
        return shape_of_tensor(&self.t)

    @property
    def dtype(self):
        """The element type."""
        return dtype_of(self)

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

    def __repr__(self):
        return METHODS["repr"](self)

    def __reduce_ex__(self, protocol):
        cdef Tensor x = concrete(self, "pickling")
        return rebuild, (x.dtype.name, shape_tuple(&x.t), raw_bytes(x, protocol))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __getbuffer__(self, Py_buffer *view, int flags):
        export_buffer(concrete(self, "its memory (the buffer protocol)"), view, flags)

    def __releasebuffer__(self, Py_buffer *view):
        PyMem_Free(view.internal)
