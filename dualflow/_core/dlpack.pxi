# DLPack import and export without copying: the structs of dlpack.h 1.0 and their capsules. Called
# by `from_dlpack`, `constant` and `__dlpack__`. Each deleter is called exactly once.
# The protocol: https://data-apis.org/array-api/latest/design_topics/data_interchange.html

from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
    PyCapsule_New, PyCapsule_SetName,
)

cdef enum:
    DL_CPU = 1
    DL_CUDA_HOST = 3                 # pinned memory: the CPU reads it like any other
    DL_INT = 0
    DL_UINT = 1
    DL_FLOAT = 2
    DL_BFLOAT = 4
    DL_COMPLEX = 5
    DL_BOOL = 6
    DL_FLAG_READ_ONLY = 1
    DL_FLAG_IS_COPIED = 2
    DL_MAJOR = 1
    DL_MINOR = 0

cdef struct DLDevice:
    int32_t device_type
    int32_t device_id

cdef struct DLDataType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct DLTensor:
    void *data
    DLDevice device
    int32_t ndim
    DLDataType dtype
    int64_t *shape
    int64_t *strides                 # in elements
    uint64_t byte_offset

cdef struct DLManagedTensor:
    DLTensor dl_tensor
    void *manager_ctx
    void (*deleter)(DLManagedTensor *) noexcept

cdef struct DLManagedTensorVersioned:
    uint32_t major
    uint32_t minor
    void *manager_ctx
    void (*deleter)(DLManagedTensorVersioned *) noexcept
    uint64_t flags
    DLTensor dl_tensor

# The allocation that a deleter frees: the struct for the consumer, followed by shape and strides.
cdef struct Exported:
    DLManagedTensor plain
    DLManagedTensorVersioned versioned
    df_buffer *buffer
    int64_t dims[1]                  # ndim dimensions, then ndim strides


# --- export -------------------------------------------------------------------------------------

cdef void free_exported(Exported *e) noexcept:
    df_buffer_release(e.buffer)
    free(e)


cdef void delete_plain(DLManagedTensor *m) noexcept:
    free_exported(<Exported *>m.manager_ctx)


cdef void delete_versioned(DLManagedTensorVersioned *m) noexcept:
    free_exported(<Exported *>m.manager_ctx)


cdef void drop_plain(object capsule) noexcept:
    """Destructor of a capsule. A consumer that took the tensor has renamed the capsule."""
    cdef DLManagedTensor *m
    if PyCapsule_IsValid(capsule, b"dltensor"):
        m = <DLManagedTensor *>PyCapsule_GetPointer(capsule, b"dltensor")
        m.deleter(m)


cdef void drop_versioned(object capsule) noexcept:
    cdef DLManagedTensorVersioned *m
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        m = <DLManagedTensorVersioned *>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        m.deleter(m)


cdef DLDataType dl_dtype(df_dtype dtype):
    cdef DLDataType d
    d.bits = 8 * df_dtypes[<int>dtype].bytes
    d.lanes = 1
    if dtype == DF_BOOL:
        d.code = DL_BOOL
    elif df_is_unsigned(dtype):
        d.code = DL_UINT
    elif dtype == DF_BF16:
        d.code = DL_BFLOAT
    elif df_is_complex(dtype):
        d.code = DL_COMPLEX
    else:
        d.code = DL_FLOAT if df_is_float(dtype) else DL_INT
    return d


cdef Exported *export_tensor(Tensor x, bint copied) except NULL:
    cdef Exported *e = <Exported *>calloc(1, sizeof(Exported) + 2 * x.t.ndim * sizeof(int64_t))
    cdef DLTensor d
    cdef int64_t step = 1
    cdef int i
    if e == NULL:
        raise MemoryError()
    d.data = x.t.data
    d.device.device_type = DL_CPU
    d.device.device_id = 0
    d.ndim = x.t.ndim
    d.dtype = dl_dtype(x.t.dtype)
    d.shape = e.dims
    d.strides = e.dims + x.t.ndim
    d.byte_offset = 0
    for i in range(x.t.ndim - 1, -1, -1):
        d.shape[i] = x.t.shape[i]
        d.strides[i] = step
        step *= x.t.shape[i]
    e.buffer = x.t.buffer
    df_buffer_retain(e.buffer)
    e.plain.dl_tensor = e.versioned.dl_tensor = d
    e.plain.manager_ctx = e.versioned.manager_ctx = e
    e.plain.deleter = delete_plain
    e.versioned.deleter = delete_versioned
    e.versioned.major = DL_MAJOR
    e.versioned.minor = DL_MINOR
    e.versioned.flags = DL_FLAG_IS_COPIED if copied else DL_FLAG_READ_ONLY
    return e


cdef tuple integers_of(value, str name):
    """Return a version or a device as a tuple of integers."""
    cdef list found = []
    try:
        items = list(value)
    except TypeError:
        raise _errors.DTypeError(f"__dlpack__: {name} is {_arguments.shown(value)}, expected a "
                                 "tuple of two integers") from None
    for item in items:
        found.append(_arguments.integer(item, f"__dlpack__: an item of {name}"))
    return tuple(found)


cdef object to_dlpack(Tensor x, stream, max_version, dl_device, copy):
    """Return a capsule. Shared memory is marked read-only, which only the versioned struct can
    express: a consumer of the unversioned struct gets a copy."""
    cdef bint versioned = (max_version is not None
                           and integers_of(max_version, "max_version") >= (DL_MAJOR,))
    cdef bint copied = bool(copy) or not versioned
    cdef Exported *e
    if stream is not None:
        raise BufferError(f"__dlpack__: stream is {stream!r}, expected None for CPU memory")
    if dl_device is not None and integers_of(dl_device, "dl_device") != (DL_CPU, 0):
        raise BufferError(
            f"__dlpack__: dl_device is {dl_device!r}, expected {(DL_CPU, 0)}, the CPU")
    if copied and copy is False:
        raise BufferError("__dlpack__: tensors are immutable, which DLPack before 1.0 cannot "
                          "express; pass max_version=(1, 0) or allow a copy")
    e = export_tensor(duplicate(x) if copied else x, copied)
    try:
        if versioned:
            return PyCapsule_New(&e.versioned, b"dltensor_versioned", drop_versioned)
        return PyCapsule_New(&e.plain, b"dltensor", drop_plain)
    except MemoryError:
        free_exported(e)
        raise


# --- import -------------------------------------------------------------------------------------

cdef void release_plain(void *m) noexcept nogil:
    with gil:
        if (<DLManagedTensor *>m).deleter != NULL:
            (<DLManagedTensor *>m).deleter(<DLManagedTensor *>m)


cdef void release_versioned(void *m) noexcept nogil:
    with gil:
        if (<DLManagedTensorVersioned *>m).deleter != NULL:
            (<DLManagedTensorVersioned *>m).deleter(<DLManagedTensorVersioned *>m)


cdef int dtype_of_dlpack(DLDataType d):
    """Return the dtype, or -1 if it is not supported."""
    cdef int dtype
    cdef DLDataType mine
    for dtype in range(<int>DF_N_DTYPES):
        mine = dl_dtype(<df_dtype>dtype)
        if mine.code == d.code and mine.bits == d.bits and d.lanes == 1:
            return dtype
    return -1


cdef bint is_dense(const DLTensor *d):
    """Return True if the elements are in row-major order without gaps."""
    cdef int64_t step = 1
    cdef int i
    if d.strides == NULL:
        return True
    for i in range(d.ndim):
        if d.shape[i] == 0:
            return True
    for i in range(d.ndim - 1, -1, -1):
        if d.shape[i] != 1 and d.strides[i] != step:
            return False
        step *= d.shape[i]
    return True


cdef int check_dlpack(const DLTensor *d) except -1:
    """Return the dtype of a DLPack tensor; raise if dualflow does not support the tensor."""
    cdef int i, dtype = dtype_of_dlpack(d.dtype)
    if d.device.device_type not in (DL_CPU, DL_CUDA_HOST):
        raise BufferError(f"from_dlpack: the data is on DLPack device type "
                          f"{d.device.device_type}, expected the CPU ({DL_CPU})")
    if dtype < 0:
        raise _errors.DTypeError(
            f"from_dlpack: got DLPack type code {d.dtype.code} of {d.dtype.bits} bits and "
            f"{d.dtype.lanes} lanes; dualflow has {', '.join(map(str, DTYPES))}")
    if d.ndim < 0 or d.ndim > DF_MAX_NDIM:
        raise _errors.ShapeError(f"from_dlpack: rank {d.ndim}, expected 0 to {DF_MAX_NDIM}")
    for i in range(d.ndim):
        if d.shape[i] < 0:
            raise _errors.ShapeError(f"from_dlpack: dimension {i} is {d.shape[i]}")
    return dtype


cdef Tensor take(df_buffer *owner, const DLTensor *d, copy):
    """Return a tensor over the memory of `d`. Takes over the reference to `owner`, which keeps the
    memory alive."""
    cdef Tensor x = blank()
    cdef df_error err
    cdef int64_t strides[254]
    cdef int i
    cdef df_dtype dtype
    cdef char *data
    cdef int bytes
    cdef bint must_copy
    x.t.buffer = owner
    dtype = <df_dtype>check_dlpack(d)
    bytes = df_dtypes[<int>dtype].bytes
    check(df_tensor_set(&x.t, dtype, d.ndim, d.shape, b"from_dlpack", &err), &err)
    data = <char *>d.data + d.byte_offset
    if x.t.size == 0:
        return new_tensor(dtype, d.ndim, d.shape, b"from_dlpack")
    must_copy = not is_dense(d) or <uint64_t>data % <uint64_t>bytes != 0
    if dtype == DF_BOOL and not must_copy:
        must_copy = not df_are_bools(<uint8_t *>data, x.t.size)
    if must_copy and copy is False:
        raise BufferError("from_dlpack: copy=False, but the data is not dense, aligned and "
                          "row-major")
    x.t.data = data
    if not must_copy and not copy:
        return x
    y = new_tensor(dtype, d.ndim, d.shape, b"from_dlpack")
    for i in range(d.ndim - 1, -1, -1):
        strides[i] = (d.strides[i] * bytes if d.strides != NULL
                      else bytes if i == d.ndim - 1 else strides[i + 1] * d.shape[i + 1])
    fill_strided(<Tensor>y, data, strides)
    if dtype == DF_BOOL:
        df_normalize_bools(<uint8_t *>y.t.data, y.t.size)
    return y


cdef Tensor consume(capsule, copy):
    """Return the tensor of a capsule that is not consumed yet, and rename the capsule."""
    cdef DLManagedTensor *plain
    cdef DLManagedTensorVersioned *versioned
    cdef df_buffer *owner
    cdef const char *name
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        versioned = <DLManagedTensorVersioned *>PyCapsule_GetPointer(
            capsule, b"dltensor_versioned")
        if versioned.major != DL_MAJOR:
            raise BufferError(f"from_dlpack: DLPack {versioned.major}.{versioned.minor}, "
                              f"expected {DL_MAJOR}.x")
        owner = df_buffer_wrap(NULL, 0, release_versioned, versioned)
        if owner == NULL:
            raise MemoryError()
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        return take(owner, &versioned.dl_tensor, copy)
    if PyCapsule_IsValid(capsule, b"dltensor"):
        plain = <DLManagedTensor *>PyCapsule_GetPointer(capsule, b"dltensor")
        owner = df_buffer_wrap(NULL, 0, release_plain, plain)
        if owner == NULL:
            raise MemoryError()
        PyCapsule_SetName(capsule, b"used_dltensor")
        return take(owner, &plain.dl_tensor, copy)
    name = PyCapsule_GetName(capsule)
    if name != NULL and name in (b"used_dltensor", b"used_dltensor_versioned"):
        raise _errors.InvalidArgumentError(
            "from_dlpack: this capsule was consumed already; ask its producer for a new one")
    raise _errors.InvalidArgumentError(
        f"from_dlpack: a capsule named {name.decode() if name != NULL else None!r}, "
        "expected 'dltensor' or 'dltensor_versioned'")


def from_dlpack(x, *, copy=None):
    """Return a tensor over the memory of `x`, without a copy if possible.

    Parameters
    ----------
    x : object with ``__dlpack__``, or a DLPack capsule
    copy : bool, optional
        True always copies, False never copies, None copies data that is not dense, aligned and
        row-major.

    Returns
    -------
    Tensor

    Raises
    ------
    BufferError
        If the data is not in memory of the CPU, or `copy` is False and a copy is needed.
    DTypeError
        If dualflow does not support the dtype, or `x` has no ``__dlpack__``.
    InvalidArgumentError
        If a capsule was consumed already.

    Notes
    -----
    Tensors are immutable, but shared memory changes when its owner writes to it: pass ``copy=True``
    for memory that will be written.

    Examples
    --------
    >>> import array, dualflow as df
    >>> x = df.constant([1., 2.])
    >>> df.from_dlpack(x).tolist()
    [1.0, 2.0]
    """
    if PyCapsule_CheckExact(x):
        return consume(x, copy)
    if not hasattr(x, "__dlpack__"):
        raise _errors.DTypeError(f"from_dlpack: got a {type(x).__name__}, which has no __dlpack__")
    if hasattr(x, "__dlpack_device__"):
        device = tuple(x.__dlpack_device__())
        if device[:1] not in ((DL_CPU,), (DL_CUDA_HOST,)):
            raise BufferError(f"from_dlpack: the data is on DLPack device {tuple(device)}, "
                              f"expected the CPU {(DL_CPU, 0)}")
    try:
        capsule = x.__dlpack__(max_version=(DL_MAJOR, DL_MINOR))
    except TypeError:                   # a producer from before DLPack 1.0
        capsule = x.__dlpack__()
    if not PyCapsule_CheckExact(capsule):
        raise _errors.DTypeError(
            f"from_dlpack: __dlpack__ returned a {type(capsule).__name__}, expected a capsule")
    return consume(capsule, copy)
