# Conversion of Python numbers to tensors. The Python type determines the dtype, except for operands
# of an op with tensors: they are weakly typed. Called by convert.pxi, apply.pxi and dispatch.pxi. A
# number that its dtype cannot hold raises an error.


cdef extern from "Python.h":
    double PyComplex_RealAsDouble(object z)
    double PyComplex_ImagAsDouble(object z)


cdef bint is_number(value):
    return isinstance(hint_of(value), (bool, int, float, complex))


cdef df_dtype number_dtype(value):
    """Return the dtype of a Python number that is not weakly typed."""
    cdef object n = hint_of(value)
    if isinstance(n, bool):
        return DF_BOOL
    if isinstance(n, int):
        if (type(value) is Dim and not (<Dim>value).data_dependent
            and (<Dim>value).bound > 0x7fffffff):
            return DF_I32 if (<Dim>value).decide("narrow", (value,)) else DF_I64
        return DF_I32 if fits_32_bits(n) else DF_I64
    return DF_C128 if isinstance(n, complex) else DF_F32


cdef df_dtype weak_dtype(value, df_dtype dtype):
    """Return the dtype of a Python number in an op with tensors of `dtype`: the same, unless the
    kind of the number is higher."""
    cdef df_kind kind = df_dtypes[<int>dtype].kind
    value = hint_of(value)
    if isinstance(value, complex):
        return DF_C128 if dtype == DF_F64 or dtype == DF_C128 else DF_C64
    if isinstance(value, bool) or kind >= DF_KIND_FLOAT:
        return dtype
    if isinstance(value, int):
        return dtype if kind == DF_KIND_INT else number_dtype(value)
    return DF_F32


cdef Tensor scalar_tensor(value, df_dtype dtype, str caller):
    """Convert a Python bool, int or float to a tensor of shape (); raise on overflow."""
    cdef Tensor x = new_tensor(dtype, 0, NULL, b"constant")
    store_number(x, 0, value, caller)
    return x


cdef int store_number(Tensor x, int64_t at, value, str caller) except -1:
    """Write a Python number to element `at` of a tensor that is not shared yet."""
    cdef void *p = x.t.data
    cdef df_dtype dtype = x.t.dtype
    cdef long long i
    cdef unsigned long long u
    if isinstance(value, complex) and not df_is_complex(dtype):
        raise _errors.DTypeError(f"{caller}: got the complex number {value!r}, expected "
                                 f"{dtype_of(x)}; df.math.real returns the real part")
    if dtype == DF_F32:
        (<float *>p)[at] = <float><double>value
        return 0
    if dtype == DF_F64:
        (<double *>p)[at] = value
        return 0
    if df_is_reduced_float(dtype):
        (<uint16_t *>p)[at] = df_f64_to_half(value, dtype)
        return 0
    if dtype == DF_BOOL:
        (<uint8_t *>p)[at] = 1 if value else 0
        return 0
    if dtype == DF_C64 or dtype == DF_C128:
        store_complex(p, at, value, dtype)
        return 0
    if isinstance(value, float):
        raise _errors.DTypeError(f"{caller}: got the float {value!r}, expected {dtype_of(x)}; "
                                 "cast it first")
    try:
        if dtype == DF_U64:
            u = value
            (<uint64_t *>p)[at] = u
            return 0
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
        elif dtype == DF_U16 and 0 <= i <= 0xffff:
            (<uint16_t *>p)[at] = <uint16_t>i
        elif dtype == DF_U32 and 0 <= i <= 0xffffffff:
            (<uint32_t *>p)[at] = <uint32_t>i
        else:
            raise OverflowError
    except OverflowError:
        raise _errors.SizeOverflowError(f"{caller}: {value} does not fit {dtype_of(x)}") from None
    return 0


cdef int store_complex(void *p, int64_t at, value, df_dtype dtype) except -1:
    """Write a Python number to element `at` of complex numbers. A C variable of a complex type
    would turn 1 + inf i into NaN + inf i."""
    cdef object z = complex(value)
    cdef double re = PyComplex_RealAsDouble(z), im = PyComplex_ImagAsDouble(z)
    if dtype == DF_C64:
        (<float *>p)[2 * at] = <float>re
        (<float *>p)[2 * at + 1] = <float>im
    else:
        (<double *>p)[2 * at] = re
        (<double *>p)[2 * at + 1] = im
    return 0


cdef Tensor number_tensor(value, df_dtype dtype, str caller):
    if type(value) is Dim:
        return traced_number(value, dtype)
    return scalar_tensor(value, dtype, caller)


cdef Tensor traced_number(value, df_dtype dtype):
    """Return a Dim as a tensor of the graph of this thread."""
    (<Dim>value).want_alive()
    if (df_trace_top != <void *>(<Dim>value).graph
            and not (<Dim>value).graph.goes_on_in(current_graph())):
        raise _errors.TracedValueError(
            f"a number that changes from call to call ({value!r}) was used outside its function")
    return <Tensor?>(<object>df_trace_top).number(value, DTYPES[<int>dtype])


cdef inline bint splat_number(void *to, value, Tensor x) except -1:
    """Fill `to` with a Python number in the dtype of `x`; return False for other dtypes."""
    cdef float narrow
    cdef double wide
    cdef uint16_t half
    if x.t.dtype == DF_F32:
        narrow = <float><double>value
        splat(to, &narrow, 4, x.t.size)
        return True
    if x.t.dtype == DF_F64:
        wide = value
        splat(to, &wide, 8, x.t.size)
        return True
    if df_is_reduced_float(x.t.dtype):
        half = df_f64_to_half(value, x.t.dtype)
        splat(to, &half, 2, x.t.size)
        return True
    return False


cdef void splat(void *to, const void *value, int bytes, int64_t n) noexcept nogil:
    """Write n copies of one element."""
    cdef int64_t i
    cdef int32_t four
    cdef int64_t eight
    if bytes == 4:
        memcpy(&four, value, 4)
        for i in range(n):
            (<int32_t *>to)[i] = four
    elif bytes == 8:
        memcpy(&eight, value, 8)
        for i in range(n):
            (<int64_t *>to)[i] = eight
    else:
        for i in range(n):
            memcpy(<char *>to + i * bytes, value, bytes)
