# Dense tensors: allocation, descriptions, views, and operands in C form; the class is in
# protocols.pxi. Used by all later parts. The memory of a tensor is written only before the tensor
# is shared, or by an op on a variable that is the only owner.

cdef enum:
    NOGIL_BYTES = 1 << 18      # for smaller copies, releasing the GIL costs more than it gains
    INLINE_OPERANDS = 8

cdef uint64_t last_id = 0          # tensors and variables are numbered: the newest id


# --- free list of tensor objects: without it, creating and freeing the result takes a third of the
# time of a small op

cdef extern from *:
    """
    #if defined(__SANITIZE_ADDRESS__) || defined(Py_GIL_DISABLED)
    #define MAX_SPARE 0              /* to catch each use after free; no lock guards the list */
    #else
    #define MAX_SPARE 256
    #endif
    static PyObject *df_spare[MAX_SPARE + 1];
    """
    int MAX_SPARE
    PyObject *df_spare[]

cdef extern from "Python.h":
    ctypedef void (*destructor)(PyObject *) noexcept
    ctypedef int (*visitproc)(PyObject *x, void *arg)
    ctypedef int (*traverseproc)(PyObject *self, visitproc visit, void *arg)
    ctypedef struct PyTypeObject:
        destructor tp_dealloc
        traverseproc tp_traverse
        Py_ssize_t tp_weaklistoffset
    PyTypeObject *Py_TYPE(PyObject *o)

cdef int n_spare = 0
cdef Py_ssize_t weakrefs_at = (<PyTypeObject *>Tensor).tp_weaklistoffset
cdef destructor free_tensor = (<PyTypeObject *>Tensor).tp_dealloc


cdef inline Tensor blank():
    """Return a tensor of rank 0 without memory."""
    global n_spare, last_id
    cdef Tensor x
    if n_spare == 0:
        return Tensor.__new__(Tensor)
    n_spare -= 1
    x = <Tensor>df_spare[n_spare]         # takes a reference, the only one
    last_id += 1
    x.id = last_id
    x.watch = False
    return x


cdef void retire(PyObject *self) noexcept:
    """Put a dead tensor on the free list; deallocate it if that may run code outside this module.
    """
    global n_spare
    cdef df_tensor *t = &(<Tensor>self).t
    if (Py_TYPE(self) != <PyTypeObject *>Tensor or n_spare == MAX_SPARE
            or (<PyObject **>(<char *>self + weakrefs_at))[0] != NULL
            or (<Tensor>self).slice_of != NULL
            or (t.buffer != NULL and t.buffer.bucket < 0)):
        free_tensor(self)
        return
    df_tensor_clear(t)
    df_spare[n_spare] = self
    n_spare += 1


(<PyTypeObject *>Tensor).tp_dealloc = retire


cdef tuple spec_shape(shape):
    """Check the shape of a TensorSpec and return it as a tuple, or None if the rank is unknown."""
    cdef list dims = []
    cdef object wanted = "expected a sequence of sizes, each an int of 0 or more, or None"
    if shape is None or not getattr(shape, "known_rank", True):
        return None
    if type(shape) is int:
        shape = (shape,)
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
            f"TensorSpec: shape has {len(dims)} dimensions, expected at most {DF_MAX_NDIM}")
    return tuple(dims)


@cython.final
cdef class TensorSpec:
    """Dtype and shape without data.

    Parameters
    ----------
    shape : sequence of int or None, int, or None
        None is an unknown dimension, or, in place of the sequence, an unknown rank. Unknown ranks
        are possible in the ``input_signature`` of a traced function, which is then traced for each
        rank, and in the ``output_signature`` of `Dataset.from_generator`.
    dtype : dtype, default float32
        `df.string` in signatures.
    name : str, optional

    Examples
    --------
    >>> import dualflow as df
    >>> df.TensorSpec([None, 3], df.float32)
    TensorSpec(shape=(None, 3), dtype=float32)
    """
    cdef tuple dims
    cdef readonly object dtype
    cdef readonly object name

    def __init__(self, shape, dtype="float32", name=None):
        if self.dtype is not None:
            raise TypeError(f"{self} is initialised already")
        self.dims = spec_shape(shape)
        if getattr(dtype, "name", dtype) == "string":
            self.dtype = _late_binding.late("string_tensor").string
        else:
            self.dtype = _dtypes.as_dtype(dtype)
        self.name = name

    @property
    def shape(self):
        """The dimensions, a tuple of int or None, as a `Shape`; ``TensorShape(None)`` if the rank
        is unknown."""
        if self.dims is None:
            return _late_binding.late("tensor_shape").TensorShape(None)
        return as_shape(self.dims)

    @property
    def ndim(self):
        """The number of dimensions, or None."""
        return None if self.dims is None else len(self.dims)

    def is_compatible_with(self, spec_or_tensor):
        """Return True if a tensor, or a tensor of another spec, may have this dtype and shape."""
        return _late_binding.late("tensor_shape").spec_accepts(self, spec_or_tensor,
                                                               "is_compatible_with")

    def is_subtype_of(self, other):
        """Return True if every tensor of this spec fits the other spec as well."""
        return _late_binding.late("tensor_shape").spec_accepts(self, other, "is_subtype_of")

    def most_specific_compatible_type(self, other):
        """Return the spec of the tensors of both specs: None for sizes that differ."""
        return _late_binding.late("tensor_shape").spec_merged(self, other)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """Return the spec of a tensor or variable."""
        return TensorSpec(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec, name=None):
        """Return a spec with the dtype and shape of another one."""
        return TensorSpec(spec.shape, spec.dtype, name or spec.name)

    def __repr__(self):
        name = f", name={self.name!r}" if self.name else ""
        return f"TensorSpec(shape={self.dims}, dtype={self.dtype}{name})"

    def __eq__(self, other):
        return (isinstance(other, TensorSpec) and self.dims == (<TensorSpec>other).dims
                and self.dtype is other.dtype)

    def __hash__(self):
        return hash((self.dims, self.dtype))

    def __reduce__(self):
        return TensorSpec, (self.dims, self.dtype, self.name)


cdef inline object dtype_of(Tensor x):
    return DTYPES[<int>x.t.dtype]


cdef str describe(Tensor x):
    return f"{dtype_of(x)} {x.shape}"


cdef object scalar_item(Tensor x, str operation):
    """Return the only element of `x` as a Python number."""
    cdef void *p = x.t.data
    if x.t.size != 1:
        raise _errors.InvalidArgumentError(
            f"{operation} requires a tensor with one element, got {describe(x)}")
    if x.t.dtype == DF_F32: return (<float *>p)[0]
    if x.t.dtype == DF_F64: return (<double *>p)[0]
    if x.t.dtype == DF_I32: return (<int32_t *>p)[0]
    if x.t.dtype == DF_I64: return (<int64_t *>p)[0]
    if x.t.dtype == DF_BOOL: return (<uint8_t *>p)[0] != 0
    if x.t.dtype == DF_U8: return (<uint8_t *>p)[0]
    if x.t.dtype == DF_U16: return (<uint16_t *>p)[0]
    if x.t.dtype == DF_U32: return (<uint32_t *>p)[0]
    if x.t.dtype == DF_U64: return (<uint64_t *>p)[0]
    if x.t.dtype == DF_I8: return (<int8_t *>p)[0]
    if x.t.dtype == DF_I16: return (<int16_t *>p)[0]
    if x.t.dtype == DF_C64: return complex((<float *>p)[0], (<float *>p)[1])
    if x.t.dtype == DF_C128: return complex((<double *>p)[0], (<double *>p)[1])
    return df_half_to_f32((<uint16_t *>p)[0], x.t.dtype)


cdef object real_item(Tensor x, str operation):
    """Same, for a conversion that would drop an imaginary part."""
    if df_is_complex(x.t.dtype):
        raise _errors.DTypeError(f"{operation} of {describe(x)} would drop the imaginary part; use "
                                 "df.math.real or complex()")
    return scalar_item(x, operation)


cdef Tensor new_tensor(df_dtype dtype, int ndim, const int64_t *shape, const char *op):
    """Return a tensor with uninitialised memory."""
    cdef df_error err
    cdef Tensor x = blank()
    check(df_tensor_set(&x.t, dtype, ndim, shape, op, &err), &err)
    check(df_tensor_alloc(&x.t, op, &err), &err)
    return x


cdef int want_memory(Tensor x) except -1:
    if type(x) is not Tensor:
        raise _errors.TracedValueError(
            f"the memory of {x.name} is not available: a traced tensor has none outside its graph")
    return 0


cdef Tensor share(Tensor x, int64_t offset, df_dtype dtype, int ndim, const int64_t *shape,
                  const char *op):
    """Return a tensor over the memory of `x`, from byte `offset` on."""
    cdef df_error err
    cdef Tensor y = blank()
    want_memory(x)
    check(df_tensor_set(&y.t, dtype, ndim, shape, op, &err), &err)
    y.t.buffer = x.t.buffer
    y.t.data = <char *>x.t.data + offset
    df_buffer_retain(y.t.buffer)
    return y


cdef Tensor duplicate(Tensor x):
    """Return a copy that shares no memory with `x`."""
    want_memory(x)
    cdef Tensor y = new_tensor(x.t.dtype, x.t.ndim, x.t.shape, b"copy")
    if x.t.size:
        memcpy(y.t.data, x.t.data, df_tensor_bytes(&x.t))
    return y


cdef void fill_strided(Tensor x, const void *source, const int64_t *strides) noexcept:
    """Copy strided memory (strides in bytes) to a tensor that is not shared yet."""
    cdef int bytes = df_dtypes[<int>x.t.dtype].bytes
    if df_tensor_bytes(&x.t) > NOGIL_BYTES:
        with nogil:
            df_copy_strided(x.t.data, source, bytes, x.t.ndim, x.t.shape, strides)
    else:
        df_copy_strided(x.t.data, source, bytes, x.t.ndim, x.t.shape, strides)


cdef Tensor empty(df_dtype dtype, list shape):
    cdef int64_t dims[254]
    cdef Py_ssize_t i
    if len(shape) > DF_MAX_NDIM:
        raise _errors.ShapeError(f"constant: rank {len(shape)} is above {DF_MAX_NDIM}")
    for i in range(len(shape)):
        dims[i] = shape[i]
        if dims[i] < 0:
            raise _errors.ShapeError(f"constant: shape {tuple(shape)} has a negative dimension")
    return new_tensor(dtype, <int>len(shape), dims, b"constant")


cdef struct Pointers:
    # Operands of a call in C form, on the heap if there are many.
    int n
    df_tensor **tensors
    PyObject **objects
    df_tensor *few_tensors[INLINE_OPERANDS]
    PyObject *few_objects[INLINE_OPERANDS]


cdef inline void init_pointers(Pointers *p) noexcept:
    p.tensors = p.few_tensors
    p.objects = p.few_objects


cdef int point_at(Pointers *p, list tensors) except -1:
    cdef int i
    p.n = <int>len(tensors)
    init_pointers(p)
    if p.n > INLINE_OPERANDS:
        p.tensors = <df_tensor **>PyMem_Malloc(p.n * sizeof(df_tensor *))
        p.objects = <PyObject **>PyMem_Malloc(p.n * sizeof(PyObject *))
        if p.tensors == NULL or p.objects == NULL:
            free_pointers(p)
            raise MemoryError()
    for i in range(p.n):
        p.objects[i] = <PyObject *>tensors[i]
        p.tensors[i] = &(<Tensor>tensors[i]).t
    return 0


cdef void free_pointers(Pointers *p) noexcept:
    if p.tensors != p.few_tensors:
        PyMem_Free(p.tensors)
    if p.objects != p.few_objects:
        PyMem_Free(p.objects)
    init_pointers(p)
