# Conversion of Python objects to tensors: numbers, nested sequences, arrays, and objects with
# `__df_tensor__`. Called by `constant` and for every operand that is not a tensor. Arrays and lists
# are copied. Converting an item may run Python code that changes the list: item access is checked.

from cpython.buffer cimport PyObject_CheckBuffer

cdef Op OP_STACK = find_op("stack")
cdef Op OP_RESHAPE = find_op("reshape")


cdef class Operand:
    """Base class of operands that are not tensors but apply ops themselves. An op with such
    operands returns the result of `_apply_op` of the first one that does not return NotImplemented.
    `convert_inputs` looks for them only if an input is neither a tensor nor a number, so other
    calls do not pay for it.

    An operand that is no composite stands for ``_value_type(_handles)`` in the arguments and
    results of traced functions; ``_traced()`` returns a value that graphs can carry."""

    _handles = _traced = _value_type = None

    def _apply_op(self, str op not None, tuple inputs not None, dict attrs not None, name):
        """Return the result of the op named `op`, or NotImplemented."""
        return NotImplemented

    @property
    def ndim(self):
        """The number of dimensions."""
        raise AttributeError("ndim")


cdef object held_by(value):
    """Return the Tensor or Variable inside an object with `__df_tensor__`, or None."""
    method = getattr(type(value), "__df_tensor__", None)
    if method is None:
        return None
    held = method(value)
    if not isinstance(held, TensorBase):
        raise _errors.DTypeError(f"{type(value).__name__}.__df_tensor__ returned a "
                                 f"{type(held).__name__}, expected a Tensor or Variable")
    return held


def unwrapped(value):
    """Return the Tensor or Variable inside an object with `__df_tensor__`, else the object."""
    if isinstance(value, TensorBase):
        return value
    held = held_by(value)
    return value if held is None else held


def as_tensor(value, dtype=None, caller="convert_to_tensor"):
    """Return `value` as a Tensor, a Variable as its value. Arrays and lists are copied. An
    Operand, which ops accept, is returned unchanged."""
    cdef Tensor x
    cdef int wanted
    if is_tensor(value):
        if type(value) is Symbol:
            check_alive(<Symbol>value, caller)
        x = <Tensor>value
    elif isinstance(value, Variable):
        x = read_variable(<Variable>value)
    elif dtype is None and isinstance(value, Operand):
        return value
    else:
        return to_tensor(value, dtype, caller)
    if dtype is None:
        return x
    wanted = (<object>_dtypes.as_dtype(dtype)).index
    if <int>x.t.dtype != wanted:
        raise _errors.DTypeError(
            f"{caller}: got a tensor of {dtype_of(x)}, expected {_dtypes.as_dtype(dtype)}; "
            + ("df.math.real(x) is the real part" if df_is_complex(x.t.dtype)
               and not df_is_complex(<df_dtype>wanted) else "use cast"))
    return x


cdef Tensor to_tensor(value, dtype, str caller):
    """Convert a number, nested lists or an array. `dtype` None: keep the dtype of `value`."""
    cdef int wanted = -1 if dtype is None else (<object>_dtypes.as_dtype(dtype)).index
    cdef df_dtype own
    cdef Tensor x
    if is_number(value) and not PyObject_CheckBuffer(value):     # numpy.float64 is a float
        own = number_dtype(value) if wanted < 0 else <df_dtype>wanted
        return number_tensor(value, own, caller)
    if type(value) is Dim:                      # its hint is a NumPy scalar, which has a dtype
        x = to_tensor((<Dim>value).hint, None, caller)
        x = traced_number(value, x.t.dtype)
        return x if wanted < 0 else cast_to(x, <df_dtype>wanted)
    if isinstance(value, (list, tuple, range)):
        return from_sequence(value, wanted, caller)
    if isinstance(value, (str, bytes, bytearray)):
        raise _errors.DTypeError(
            f"{caller}: got {_arguments.shown(value)} of type {type(value).__name__}, "
            "expected numbers")
    if isinstance(value, type):                 # a class has the methods of its instances
        raise _errors.DTypeError(
            f"{caller}: got {_arguments.shown(value)}, which is a class, expected a tensor, a "
            "number, nested lists of numbers or an array")
    held = held_by(value)
    if held is not None:
        return as_tensor(held, dtype, caller)
    if PyObject_CheckBuffer(value):
        x = from_buffer(value, caller)
    elif hasattr(value, "__dlpack__"):
        x = from_dlpack(value, copy=True)
    elif hasattr(value, "__array__") and not isinstance(value, Operand):
        x = from_buffer(value.__array__(), caller)
    elif hasattr(value, "__float__") or hasattr(value, "__index__"):
        return to_tensor(value.__index__() if hasattr(value, "__index__") else float(value),
                         dtype, caller)
    else:
        raise _errors.DTypeError(
            f"{caller}: got an object of type {type(value).__name__}, "
            "expected a tensor, a number, nested lists of numbers or an array")
    return x if wanted < 0 else converted(x, <df_dtype>wanted, caller)


cdef Tensor converted(Tensor x, df_dtype wanted, str caller):
    """Cast a value that a caller converts; raise if the cast would drop imaginary parts."""
    if df_is_complex(x.t.dtype) and not df_is_complex(wanted):
        raise _errors.DTypeError(f"{caller}: got {describe(x)}, expected {DTYPES[<int>wanted]}; "
                                 "df.math.real(x) is the real part")
    return cast_to(x, wanted)


def constant(value, dtype=None, caller="constant"):
    """Return `value` as a tensor, cast to `dtype` if given. Arrays and lists are copied."""
    cdef Tensor x
    cdef int wanted
    if dtype is not None:
        value = unwrapped(value)
    if is_tensor(value) or isinstance(value, Variable):
        x = as_tensor(value)
        wanted = x.t.dtype if dtype is None else (<object>_dtypes.as_dtype(dtype)).index
        return converted(x, <df_dtype>wanted, caller)
    return to_tensor(value, dtype, caller)


# --- nested lists -------------------------------------------------------------------------------

cdef extern from "Python.h":
    Py_ssize_t PyList_GET_SIZE(object o)
    Py_ssize_t PyTuple_GET_SIZE(object o)
    PyObject *PyList_GET_ITEM(object o, Py_ssize_t i)


cdef enum:
    STORED = -1            # a value >= 0 is the wider dtype that the numbers need
    NOT_NUMBERS = -2
    FAILED = -3


cdef Py_ssize_t length(value) except -1:
    """Return the true length of a list, tuple or range, even if a subclass overrides `__len__`."""
    if isinstance(value, list):
        return PyList_GET_SIZE(value)
    if isinstance(value, tuple):
        return PyTuple_GET_SIZE(value)
    return len(value)


cdef object shrunk(value, Py_ssize_t i):
    return _errors.InvalidArgumentError(
        f"a list changed while it was converted: {PyList_GET_SIZE(value)} items are left, item {i} "
        "was expected")


cdef inline object item_at(value, Py_ssize_t i):
    """Return item i as a new reference: the conversion of a number of a subclass runs Python code,
    which may remove the item or shorten the list."""
    if isinstance(value, list):
        if i >= PyList_GET_SIZE(value):
            raise shrunk(value, i)
        return <object>PyList_GET_ITEM(value, i)
    if isinstance(value, tuple):
        return <object>PyTuple_GET_ITEM(value, i)
    return value[i]


cdef list measure(value, str caller):
    """Return the shape of nested sequences, from the first element at each depth."""
    cdef list shape = []
    while isinstance(value, (list, tuple, range)):
        if len(shape) == DF_MAX_NDIM:
            raise _errors.ShapeError(
                f"{caller}: lists are nested more than {DF_MAX_NDIM} deep, the maximal rank")
        shape.append(length(value))
        if length(value) == 0:
            break
        value = item_at(value, 0)
    return shape


cdef object ragged(str caller, int depth, item, want):
    """Return the error for lists that differ in length or depth."""
    if isinstance(item, (list, tuple, range)):
        found = f"a list of {length(item)} items"
    else:
        found = f"a {type(item).__name__}"
    wanted = "a number" if want is None else f"a list of {want} items"
    return _errors.ShapeError(
        f"{caller}: ragged lists: at depth {depth} is {found}, expected {wanted}")


cdef int fill(Tensor x, int64_t *at, value, int depth, bint fixed, str caller) except FAILED:
    """Store the numbers of `value` from element `at` on. The depth of the recursion is the rank."""
    cdef Py_ssize_t i, n
    cdef int status
    cdef df_dtype dtype = x.t.dtype
    if not isinstance(value, (list, tuple, range)) or length(value) != x.t.shape[depth]:
        raise ragged(caller, depth, value, x.t.shape[depth])
    n = length(value)
    if depth + 1 < x.t.ndim:
        for i in range(n):
            status = fill(x, at, item_at(value, i), depth + 1, fixed, caller)
            if status != STORED:
                return status
        return STORED
    for i in range(n):
        item = item_at(value, i)
        if type(item) is float and dtype == DF_F32:
            (<float *>x.t.data)[at[0]] = <float>(<double>item)
        elif not is_number(item) or type(item) is Dim:
            if isinstance(item, (list, tuple, range)):
                raise ragged(caller, depth + 1, item, None)
            return NOT_NUMBERS
        elif not fixed and df_promote(dtype, number_dtype(item)) != dtype:
            return df_promote(dtype, number_dtype(item))
        else:
            store_number(x, at[0], item, caller)
        at[0] += 1
    return STORED


cdef Tensor from_sequence(value, int wanted, str caller):
    """Convert nested sequences in one pass if the dtype of the first number suffices for all;
    otherwise start again with a wider dtype."""
    cdef list shape = measure(value, caller)
    cdef int dtype = wanted
    cdef int status
    cdef int64_t at
    cdef Tensor x
    if wanted < 0:
        first = value
        for _ in shape:
            first = item_at(first, 0) if length(first) else 0.0
        dtype = number_dtype(first) if is_number(first) and type(first) is not Dim else DF_F32
    while True:
        x = empty(<df_dtype>dtype, shape)
        at = 0
        status = fill(x, &at, value, 0, wanted >= 0, caller)
        if status == STORED:
            return x
        if status == NOT_NUMBERS:
            return pack_leaves(flatten(value, shape, caller), shape, wanted, caller)
        dtype = status


cdef list flatten(value, list shape, str caller):
    """Return the leaves of nested sequences, in row-major order."""
    cdef list level = [value]
    cdef list below
    cdef Py_ssize_t i
    for d, want in enumerate(shape):
        below = []
        for item in level:
            if not isinstance(item, (list, tuple, range)) or length(item) != want:
                raise ragged(caller, d, item, want)
            for i in range(want):
                below.append(item_at(item, i))
        level = below
    return level


cdef int common_dtype(list leaves, int wanted) except -2:
    """Return the common dtype of leaves that are all numbers or Dims, else -1."""
    cdef int common = wanted
    for leaf in leaves:
        if not is_number(leaf):
            return -1
        if wanted < 0:
            common = number_dtype(leaf) if common < 0 else df_promote(
                <df_dtype>common, number_dtype(leaf))
    return common


cdef Tensor pack_leaves(list leaves, list shape, int wanted, str caller):
    """Convert lists of tensors or arrays: stack the leaves, then reshape to the outer shape."""
    cdef list parts = []
    cdef tuple inner
    cdef int common = common_dtype(leaves, wanted)
    for leaf in leaves:
        if isinstance(leaf, (list, tuple, range)):
            raise ragged(caller, len(shape), leaf, None)
        if isinstance(leaf, Operand):
            to_tensor(leaf, None, caller)           # raises an error
        parts.append(as_tensor(leaf, None, caller) if common < 0
                     else number_tensor(leaf, <df_dtype>common, caller))
    inner = shape_tuple(&(<Tensor>parts[0]).t)
    x = apply_to_tensors(OP_STACK, promoted(OP_STACK, NULL, parts), pack_values(OP_STACK, (0,)))
    x = apply_to_tensors(OP_RESHAPE, [x], pack_values(OP_RESHAPE, (tuple(shape) + inner,)))
    return x if wanted < 0 else cast_to(x, <df_dtype>wanted)
