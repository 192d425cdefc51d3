# Guards on the arguments of a call, for the dispatch cache. No Python code may run while guards are
# checked, so that neither arguments nor guards change.

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object x, Py_ssize_t i) noexcept
    bint PyDict_Next(object d, Py_ssize_t *at, PyObject **k, PyObject **v) noexcept
    int PyUnicode_Compare(object a, object b) noexcept
    PyObject *PyWeakref_GET_OBJECT(object ref) noexcept

cdef bint is_small(x) noexcept:
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(x, &overflow)
    return overflow == 0 and -SMALL <= n <= SMALL


cdef class ArgumentGuard:
    """A guard on an argument, or on a part of an argument."""


cdef class LeafGuard(ArgumentGuard):
    cdef Py_ssize_t leaf       # the index among the leaves of the call


@cython.final
cdef class TensorGuard(LeafGuard):
    """A guard for tensors of a dtype and shape."""
    cdef df_tensor t

    def __cinit__(self):
        df_tensor_init(&self.t)

    def __dealloc__(self):
        df_tensor_clear(&self.t)

    cdef inline bint accepts(self, Tensor x) noexcept:
        return x.t.dtype == self.t.dtype and df_same_shape(&x.t, &self.t)


@cython.final
cdef class NumberGuard(LeafGuard):
    """A guard for numbers of a type; for ints, up to SMALL or beyond it."""
    cdef object kind
    cdef bint small

    cdef bint accepts(self, x) noexcept:
        return type(x) is self.kind and (type(x) is not int or is_small(x) == self.small)


@cython.final
cdef class ValueGuard(LeafGuard):
    """A guard for an object, or for an identical number or text."""
    cdef object value

    cdef bint accepts(self, x) noexcept:
        cdef int overflow = 0
        cdef double a, b
        if x is self.value:
            return True
        if type(x) is not type(self.value):
            return False
        if type(x) is float:
            a, b = x, self.value
            return memcmp(&a, &b, sizeof(double)) == 0          # 0.0 and -0.0 differ
        if type(x) is int:
            return is_small(x) and is_small(self.value) and (
                PyLong_AsLongLongAndOverflow(x, &overflow)
                == PyLong_AsLongLongAndOverflow(self.value, &overflow))
        return type(x) is str and PyUnicode_Compare(x, self.value) == 0


@cython.final
cdef class ContainerGuard(ArgumentGuard):
    """A guard for a list, tuple, named tuple or dict with guarded parts."""
    cdef object kind
    cdef tuple parts           # for a dict, in the order of its keys
    cdef tuple keys            # for a dict, else None


cdef inline bint check_guard(ArgumentGuard guard, PyObject *x, tuple leaves) noexcept:
    """Return True if a value passes a guard. Its leaves are stored in `leaves`, unless None."""
    if type(guard) is TensorGuard:
        if type(<object>x) is not Tensor or not (<TensorGuard>guard).accepts(<Tensor>x):
            return False
    elif type(guard) is ContainerGuard:
        return check_container(<ContainerGuard>guard, x, leaves)
    elif type(guard) is ValueGuard:
        if not (<ValueGuard>guard).accepts(<object>x):
            return False
    elif not (<NumberGuard>guard).accepts(<object>x):
        return False
    if leaves is not None:
        Py_INCREF(<object>x)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(leaves, (<LeafGuard>guard).leaf, <object>x)
    return True


cdef bint check_container(ContainerGuard guard, PyObject *x, tuple leaves) noexcept:
    cdef Py_ssize_t k, n = len(guard.parts)
    if type(<object>x) is not guard.kind:
        return False
    if guard.keys is not None:
        return len(<dict>x) == n and check_dict(guard, <object>x, leaves)
    if guard.kind is list:
        if len(<list>x) != n:
            return False
        for k in range(n):
            if not check_guard(<ArgumentGuard>PyTuple_GET_ITEM(guard.parts, k),
                               PyList_GET_ITEM(<object>x, k),
                        leaves):
                return False
        return True
    return check_guards(guard.parts, <tuple>x, leaves)


cdef bint check_guards(tuple parts, tuple given, tuple leaves) noexcept:
    cdef Py_ssize_t k
    if len(given) != len(parts):
        return False
    for k in range(len(parts)):
        if not check_guard(<ArgumentGuard>PyTuple_GET_ITEM(parts, k), PyTuple_GET_ITEM(given, k),
                           leaves):
            return False
    return True


cdef bint check_dict(ContainerGuard guard, x, tuple leaves) noexcept:
    """Return True if a dict, of the right length, has the keys in order and values that pass."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0, k = 0
    while PyDict_Next(x, &at, &key, &value):
        if not (same_key(key, PyTuple_GET_ITEM(guard.keys, k))
                and check_guard(<ArgumentGuard>PyTuple_GET_ITEM(guard.parts, k), value, leaves)):
            return False
        k += 1
    return True


cdef inline bint same_key(PyObject *a, PyObject *b) noexcept:
    """Return True if two keys are the same object or, as is common, the same text."""
    return a == b or (type(<object>a) is str and type(<object>b) is str
                      and PyUnicode_Compare(<object>a, <object>b) == 0)


def leaf_guard(Py_ssize_t leaf, value, bint any_number):
    """Return the guard for a leaf: for a tensor its dtype and shape, for a number its type if
    `any_number`, else the value."""
    cdef TensorGuard guard
    cdef NumberGuard number
    cdef ValueGuard same
    cdef df_error err
    cdef Tensor x
    if type(value) is Tensor:
        x = <Tensor>value
        guard = TensorGuard.__new__(TensorGuard)
        guard.leaf = leaf
        check(df_tensor_set(&guard.t, x.t.dtype, x.t.ndim, x.t.shape, b"call", &err), &err)
        return guard
    if any_number:
        number = NumberGuard.__new__(NumberGuard)
        number.leaf = leaf
        number.kind = type(value)
        number.small = type(value) is int and is_small(value)
        return number
    same = ValueGuard.__new__(ValueGuard)
    same.leaf = leaf
    same.value = value
    return same


def container_guard(kind, parts, keys=None):
    """Return the guard for a list, tuple or named tuple or, with ordered keys, for a dict."""
    cdef ContainerGuard guard = ContainerGuard.__new__(ContainerGuard)
    guard.kind = kind
    guard.parts = tuple(parts)
    guard.keys = None if keys is None else tuple(keys)
    for part in guard.parts:
        if not isinstance(part, ArgumentGuard):
            raise TypeError(f"container_guard: a part is a {type(part).__name__}")
    if not (kind is dict if keys is not None else kind is list or issubclass(kind, tuple)) or (
            keys is not None and len(guard.keys) != len(guard.parts)):
        raise TypeError(f"container_guard: a {kind.__name__} of {len(guard.parts)} parts, keys "
                        f"{keys}")
    return guard


cdef enum:
    ABSENT
    IDENTICAL
    ALIVE              # identical; only a weak reference is kept
    EQUAL              # a number or text
    ITEMS              # a tuple of such
    TENSOR             # any tensor of the same dtype and shape


@cython.final
cdef class ExpectedValue:
    """What a place must hold."""
    cdef int how
    cdef object value
    cdef tuple parts
    cdef bint is_tensor                # `value` is a weak reference to a tensor

    cdef bint accepts(self, PyObject *x) noexcept:
        cdef Py_ssize_t k
        if x == NULL or self.how == ABSENT:
            return x == NULL and self.how == ABSENT
        if self.how == IDENTICAL:
            return x == <PyObject *>self.value
        if self.how == ALIVE:
            return x == PyWeakref_GET_OBJECT(self.value)
        if self.how == EQUAL:
            return (<ValueGuard>self.value).accepts(<object>x)
        if self.how == TENSOR:
            return type(<object>x) is Tensor and (<TensorGuard>self.value).accepts(<Tensor>x)
        if type(<object>x) is not self.value or len(<tuple>x) != len(self.parts):
            return False
        for k in range(len(self.parts)):
            if not (<ExpectedValue>PyTuple_GET_ITEM(self.parts,
                                                    k)).accepts(PyTuple_GET_ITEM(<object>x, k)):
                return False
        return True

    cdef Py_ssize_t count(self, PyObject *x) noexcept:
        """Return how often a value is this object, or a part of it."""
        cdef Py_ssize_t n = 0, k
        if self.how == ALIVE:
            return x == PyWeakref_GET_OBJECT(self.value)
        if self.how == ITEMS:
            for k in range(len(self.parts)):
                n += (<ExpectedValue>PyTuple_GET_ITEM(self.parts, k)).count(x)
        return n

    cdef bint is_plain(self):
        return self.how == EQUAL or (self.how == IDENTICAL and isinstance(
            self.value, (bool, type(None))))

    cdef str described(self):
        if self.how == ABSENT:
            return "nothing"
        if self.how == EQUAL:
            return repr((<ValueGuard>self.value).value)
        if self.how == TENSOR or self.is_tensor:
            return "<Tensor>"
        return brief(self.value() if self.how == ALIVE else self.value)


cdef str brief(x):
    """A value in a message."""
    if x is None or type(x) in (bool, int, float, str):
        return repr(x)
    name = None if type(x) is Dim else getattr(x, "__qualname__", None)
    return name if type(name) is str else f"<{type(x).__name__}>"


cdef ExpectedValue expected_value(PyObject *x):
    """What a place holds that must hold this."""
    cdef ExpectedValue expected = ExpectedValue.__new__(ExpectedValue)
    cdef ValueGuard same
    if x == NULL:
        expected.how = ABSENT
        return expected
    value = <object>x
    expected.how, expected.value = IDENTICAL, value
    if type(value) in (int, float, str):
        same = ValueGuard.__new__(ValueGuard)
        same.value = value
        expected.how, expected.value = EQUAL, same
    elif isinstance(value, tuple) and type(value).__iter__ is tuple.__iter__:
        expected.how, expected.value = ITEMS, type(value)
        expected.parts = expected_items(value)
    elif value is not None and type(value) is not bool:
        try:
            expected.value = _weakref.ref(value)
            expected.how, expected.is_tensor = ALIVE, type(value) is Tensor
        except TypeError:
            pass
    return expected


cdef tuple expected_items(values):
    cdef list parts = []
    for value in values:
        parts.append(expected_value(<PyObject *>value))
    return tuple(parts)
