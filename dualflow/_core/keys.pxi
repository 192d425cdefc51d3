# Operators with cases of their own: arithmetic of bools; a @ b of matrices and x[key] by ints and
# slices of ints, whose ops have attributes. Called by protocols.pxi and variable.pxi. All other
# cases go to functions in Python (METHODS).

cdef extern from "op/slices.h":
    int64_t DF_SLICE_MISSING
    enum:
        DF_KEY_SLICE
        DF_KEY_INDEX

cdef dict METHODS = {}             # functions composed of ops, bound by dualflow.ops

cdef Op OP_MATMUL = find_op("matmul")
cdef Op OP_STRIDED_SLICE = find_op("strided_slice")
cdef Attrs AS_THEY_ARE = pack_values(OP_MATMUL, (0, 0))        # no operand is transposed
cdef tuple ZERO = (0,), ONE = (1,), ONE_INDEX = (<int>DF_KEY_INDEX,)


cdef inline int rank(x) noexcept:
    """Return the rank of a tensor or a variable, -1 for other objects."""
    if is_tensor(x):
        return (<Tensor>x).t.ndim
    if type(x) is Variable and (<Variable>x).value_ is not None:
        return (<Variable>x).value_.t.ndim
    return -1


cdef inline bint is_narrow(x) noexcept:
    """Return True if a tensor or variable, for which `rank` is not -1, holds ints below 32 bits."""
    cdef Tensor t = (<Variable>x).value_ if type(x) is Variable else <Tensor>x
    return df_dtypes[<int>t.t.dtype].kind == DF_KIND_INT and df_dtypes[<int>t.t.dtype].bytes < 4


cdef inline int bool_or_other(x) noexcept:
    """Return 1 for a tensor or variable of dtype bool, 0 for other dtypes, -1 for other objects."""
    if is_tensor(x):
        return (<Tensor>x).t.dtype == DF_BOOL
    if type(x) is Variable and (<Variable>x).value_ is not None:
        return (<Variable>x).value_.t.dtype == DF_BOOL
    return -1


cdef object arithmetic(Op op, a, b):
    """Return the result of an arithmetic operator, at least one of whose operands is a tensor."""
    cdef int left = bool_or_other(a)
    if left != 0:
        right = bool_or_other(b)
        if right != 0 and left + right >= 0:
            return METHODS["of_bools"](op.name, a, b)
    return binary(op, a, b)


cdef object product(a, b):
    """Return a @ b."""
    cdef PyObject *args[2]
    if rank(a) < 2 or rank(b) < 2 or is_narrow(a) or bool_or_other(a) == 1:
        return METHODS["matmul"](a, b)
    args[0] = <PyObject *>a
    args[1] = <PyObject *>b
    return apply_op(OP_MATMUL, args, 2, AS_THEY_ARE)


cdef object element(TensorBase x, key):
    """Return x[key]."""
    cdef PyObject *args[1]
    cdef Attrs attrs
    if has_methods(x) and not asked_by_us():
        return (<Symbol>x).graph.methods.element(x, key)
    if type(key) is int:
        attrs = pack_values(OP_STRIDED_SLICE, ((key,), ZERO, ONE, ONE_INDEX))
    elif type(key) is tuple and 0 < len(<tuple>key) <= rank(x):
        attrs = plain_keys(<tuple>key)
    elif type(key) is slice and rank(x) > 0:
        attrs = plain_keys((key,))
    else:
        attrs = None
    if attrs is None:
        return METHODS["getitem"](x, key)
    args[0] = <PyObject *>x
    return apply_op(OP_STRIDED_SLICE, args, 1, attrs)


cdef Attrs plain_keys(tuple keys):
    """Return the attributes of a slice by ints and slices of small ints; None for other keys."""
    cdef list begin = [], end = [], strides = [], kinds = []
    for key in keys:
        if type(key) is slice:
            if not (is_bound(key.start) and is_bound(key.stop) and is_bound(key.step)):
                return None
            begin.append(DF_SLICE_MISSING if key.start is None else key.start)
            end.append(DF_SLICE_MISSING if key.stop is None else key.stop)
            strides.append(1 if key.step is None else key.step)
            kinds.append(DF_KEY_SLICE)
        elif type(key) is int:
            begin.append(key)
            end.append(0)
            strides.append(1)
            kinds.append(DF_KEY_INDEX)
        else:
            return None
    return pack_values(OP_STRIDED_SLICE, (tuple(begin), tuple(end), tuple(strides), tuple(kinds)))


cdef inline bint is_bound(x) noexcept:
    """Return True for None or an int of 64 bits that is not DF_SLICE_MISSING."""
    cdef int overflow = 0
    cdef long long n
    if x is None:
        return True
    if type(x) is not int:
        return False
    n = PyLong_AsLongLongAndOverflow(x, &overflow)
    return overflow == 0 and n != DF_SLICE_MISSING
