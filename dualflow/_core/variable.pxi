# Variable: the only mutable tensor. Its value is a Tensor whose memory ops may write if it has no
# other owner; otherwise the variable moves to a copy first (`make_exclusive` in
# variable_locks.pxi).

import weakref as _weakref

cdef uint64_t n_variables = 0
cdef object variables_by_id = _weakref.WeakValueDictionary()


@cython.final
cdef class Variable(TensorBase):
    """A named tensor that can be assigned.

    Parameters
    ----------
    initial_value : any argument of `convert_to_tensor`
    trainable : bool, default True
        Whether tapes watch it automatically. Only floating-point variables are watched.
    name : str, optional
    dtype : dtype, optional
    shape : ints, optional
        The required shape of the initial value; None for a size that is not checked.
    validate_shape, synchronization, aggregation
        Ignored: a variable keeps the shape of its initial value, and there is one copy.

    Notes
    -----
    Ops read the value at the time they run. Tensors and arrays read earlier keep the old value.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1., 2.])
    >>> v.assign_add([1., 1.]).numpy().tolist()
    [2.0, 3.0]
    """
    def __init__(self, initial_value, trainable=True, name=None, dtype=None, *, shape=None,
                 validate_shape=True, synchronization=None, aggregation=None):
        if self.made:              # programs rely on its dtype and shape
            raise TypeError(f"{self.name} is initialised already; use assign for another value")
        self.made = True

    def __cinit__(self, initial_value, trainable=True, name=None, dtype=None, *, shape=None,
                  validate_shape=True, synchronization=None, aggregation=None):
        global n_variables, last_id
        initial_value = unwrapped(initial_value)
        if df_trace_top != NULL:
            initial_value = (<object>df_trace_top).initial_value(initial_value)
        elif callable(initial_value):
            initial_value = initial_value()
        n_variables += 1
        last_id += 1
        self.id = last_id
        variables_by_id[self.id] = self
        self.name = name if name is not None else f"Variable_{n_variables}"
        self.trainable = trainable
        set_value(self, <Tensor>constant(initial_value, dtype, "Variable"))
        if shape is not None:
            METHODS["check_shape"](self, shape)
        if df_trace_top != NULL:
            (<object>df_trace_top).created(self)

    @property
    def shape(self):
        """The dimensions, a tuple of int."""
        return self.value_.shape

    @property
    def dtype(self):
        """The element type."""
        return self.value_.dtype

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.value_.t.ndim

    @property
    def size(self):
        """The number of elements."""
        return self.value_.t.size

    @property
    def nbytes(self):
        """Bytes of the elements."""
        return df_tensor_bytes(&self.value_.t)

    def value(self):
        """Return the current value as a Tensor, which later assignments do not change."""
        return read_variable(self)

    read_value = value

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Replace the value (same shape, same dtype) and return the variable."""
        apply_by_name("assign", (self, operand(self, value, "assign")), {})
        return self

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Add `delta` in place and return the variable."""
        apply_by_name("assign_add", (self, operand(self, delta, "assign_add")), {})
        return self

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Subtract `delta` in place and return the variable."""
        apply_by_name("assign_sub", (self, operand(self, delta, "assign_sub")), {})
        return self

    def __getitem__(self, key):
        part = element(self, key)
        cdef tuple where = (self, key)
        if type(part) is Symbol:
            (<Symbol>part).part_of = where
        elif type(part) is Tensor and (<Tensor>part).slice_of == NULL:
            Py_INCREF(where)
            (<Tensor>part).slice_of = <PyObject *>where
        return part

    def __setitem__(self, key, value):
        raise TypeError(f"{self.name} is assigned by a method: v[...].assign(value), or "
                        "v.assign(value) for all of it")

    def __iadd__(self, other): raise in_place(self, "+", "v.assign_add(x)")
    def __isub__(self, other): raise in_place(self, "-", "v.assign_sub(x)")
    def __imul__(self, other): raise in_place(self, "*", "v.assign(v * x)")
    def __itruediv__(self, other): raise in_place(self, "/", "v.assign(v / x)")
    def __ifloordiv__(self, other): raise in_place(self, "//", "v.assign(v // x)")
    def __imod__(self, other): raise in_place(self, "%", "v.assign(v % x)")
    def __ipow__(self, other): raise in_place(self, "**", "v.assign(v ** x)")
    def __imatmul__(self, other): raise in_place(self, "@", "v.assign(v @ x)")
    def __iand__(self, other): raise in_place(self, "&", "v.assign(v & x)")
    def __ior__(self, other): raise in_place(self, "|", "v.assign(v | x)")
    def __ixor__(self, other): raise in_place(self, "^", "v.assign(v ^ x)")
    def __ilshift__(self, other): raise in_place(self, "<<", "v.assign(v << x)")
    def __irshift__(self, other): raise in_place(self, ">>", "v.assign(v >> x)")

    def __len__(self):
        return len(self.value_)

    def __repr__(self):
        return METHODS["repr"](self)

    def __reduce__(self):
        return Variable, (concrete(self, "pickling"), self.trainable, self.name)

    def __copy__(self):
        return Variable(concrete(self, ".numpy()"), self.trainable, self.name)

    def __deepcopy__(self, memo):
        return Variable(concrete(self, ".numpy()"), self.trainable, self.name)


cdef object in_place(Variable v, str sign, str instead):
    return TypeError(f"{v.name}: v {sign}= x would rebind v to a tensor and not change the "
                     f"variable; use {instead}, or v = v {sign} x for a tensor")


def slice_origin(Tensor x not None):
    """Return (variable, key) if `x` is ``variable[key]``, else None."""
    if type(x) is Symbol:
        return (<Symbol>x).part_of
    return <object>x.slice_of if x.slice_of != NULL else None


def operand(Variable v not None, value, str op not None):
    """Return `value` as a tensor. A tensor keeps its dtype; a number, list or array is cast to the
    dtype of the variable if promotion allows that cast."""
    value = unwrapped(value)
    if isinstance(value, TensorBase):
        return value
    cdef Tensor x = to_tensor(value, None, op)
    cdef df_dtype own = x.t.dtype
    if df_promote(own, v.value_.t.dtype) == v.value_.t.dtype:
        return cast_to(x, v.value_.t.dtype)
    return x


cdef int set_value(Variable v, Tensor x) except -1:
    """Set the value to share the memory of `x`, which is immutable: the next write copies it."""
    v.value_ = value_of(v, x)
    v.version += 1
    return 0


def drop_value(Variable v):
    """Free the memory of a variable that only stood for other variables while Python was traced."""
    set_value(v, <Tensor>constant(0, v.dtype))


def value_of(Variable v, Tensor x):
    """Return `x` as a value of a variable, with its tensor id: tapes treat it as the variable."""
    cdef Tensor value = share(x, 0, x.t.dtype, x.t.ndim, x.t.shape, b"Variable")
    value.id = v.id
    value.watch = v.trainable and df_is_inexact(x.t.dtype)
    return value


def variable_of(Tensor x):
    """Return the variable whose value a tensor is, or None if it was freed."""
    return variables_by_id.get(x.id)


def variables_of(ids):
    """Return the live variables with these ids, in the order of their creation."""
    found = []
    for id in sorted(ids):
        v = variables_by_id.get(id)
        if v is not None:
            found.append(v)
    return found
