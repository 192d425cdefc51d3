# The attributes of an application of an op, packed for C by the specs of the op record. Called
# wherever an op is applied or a graph node is created. An Attrs never changes once it is built:
# nodes, tape records and the cache `Op.recent` share it.

cdef enum:
    MAX_ATTRS = 12
    MAX_INTS = 1 << 24         # a longer range is rejected as a mistake
    MAX_CACHED_INTS = 16       # longer tuples are not cached for the next call

cdef extern from "Python.h":
    PyObject *PyDict_GetItem(object mapping, object key)
    PyObject *PyTuple_GET_ITEM(object t, Py_ssize_t i)


@cython.final
@cython.no_gc_clear         # immutable: the collector breaks cycles at other objects
cdef class Attrs:
    """The attributes of one application, as C values and as a hashable tuple. The tuple may hold
    Dims, which refer to the trace that holds the application."""
    cdef df_attr c[MAX_ATTRS]
    cdef int64_t *lists
    cdef tuple names
    cdef readonly tuple values
    cdef readonly bint symbolic        # some values are Dims; `c` holds their hints
    cdef bint data_dependent           # some of the Dims depend on data

    def __dealloc__(self):
        PyMem_Free(self.lists)

    def as_dict(self):
        return dict(zip(self.names, self.values))

    def __eq__(self, other):
        return (isinstance(other, Attrs) and (<Attrs>self).names == (<Attrs>other).names
                and (<Attrs>self).values == (<Attrs>other).values
                and same_floats(<Attrs>self, <Attrs>other))

    def __hash__(self):
        return hash(self.values)


cdef bint same_floats(Attrs a, Attrs b):
    """Return True if floats that compare equal have equal bits, so that 0.0 is not -0.0."""
    cdef Py_ssize_t k
    for k in range(len(a.values)):
        if type(a.values[k]) is float and memcmp(&a.c[k].f, &b.c[k].f, sizeof(double)):
            return False
    return True


cdef bint all_ints(tuple values):
    for v in values:
        if type(v) is not int and type(v) is not Dim:
            return False
    return True


def as_index(value):
    """Return `value` as an int or a Dim for an attribute. A traced tensor is accepted if its graph
    can determine its value, for example from shapes alone."""
    if type(value) is int or type(value) is Dim:
        return value
    if hasattr(type(value), "__df_tensor__"):
        value = value.__df_tensor__()
    if type(value) is Symbol:
        return (<Symbol>value).graph.dim_of(value)
    return PyNumber_Index(value)


cdef object clean_attr(Op op, int k, value):
    """Return the plain Python form of one attribute: an int, float or tuple of ints, or Dims."""
    cdef df_attr_type kind = op.c.attrs[k].type
    try:
        if kind == DF_ATTR_FLOAT:
            if isinstance(value, (str, bytes, bytearray)):
                raise TypeError             # float() would parse it
            if type(value) is Tensor and df_is_complex((<Tensor>value).t.dtype):
                raise _errors.DTypeError(
                    f"{op.name}: {op.attrs[k]} is {describe(<Tensor>value)}, expected a number; "
                    "df.math.real(x) is the real part")
            return value if type(value) is Dim else float(value)
        if kind == DF_ATTR_BOOL:
            return int(bool(value))
        if kind == DF_ATTR_DTYPE:
            return (<object>_dtypes.as_dtype(value)).index
        if kind == DF_ATTR_INT:
            return as_index(value)
        if type(value) is tuple and all_ints(<tuple>value):
            return value
        if type(value) is Shape:
            return tuple(value)
        if type(value) is Symbol:
            return (<Symbol>value).graph.dims_of(value)
        if type(value) is range and value[:MAX_INTS] != value:
            raise _errors.InvalidArgumentError(
                f"{op.name}: {op.attrs[k]} is {value!r}, expected at most {MAX_INTS} integers")
        if hasattr(value, "__index__") and (not isinstance(value, TensorBase) or not value.ndim):
            return (as_index(value),)
        return tuple(map(as_index, value))
    except (AttributeError, TypeError, ValueError) as exc:
        if isinstance(exc, _errors.DualflowError):
            raise
        expected = ("an integer", "a number", "a bool", "a dtype", "integers")[<int>kind]
        raise _errors.DTypeError(f"{op.name}: {op.attrs[k]} is {_arguments.shown(value)}, "
                                 f"expected {expected}") from None


cdef bint is_cacheable(value):
    """Return True if an attribute is immutable and short, so that it can be cached by identity."""
    if type(value) is not tuple:
        return (type(value) is bool or type(value) is int or type(value) is float
                or type(value) is _dtypes.DType)
    if len(<tuple>value) > MAX_CACHED_INTS:
        return False
    for v in <tuple>value:
        if type(v) is not int:
            return False
    return True


cdef inline bint is_same(PyObject *a, PyObject *b) noexcept:
    """Return True if two attributes are the same object, or tuples of the same objects."""
    cdef Py_ssize_t k
    if a == b:
        return True
    if a == NULL or type(<object>a) is not tuple or type(<object>b) is not tuple or (
            len(<tuple>a) != len(<tuple>b)):
        return False
    for k in range(len(<tuple>a)):
        if PyTuple_GET_ITEM(<object>a, k) != PyTuple_GET_ITEM(<object>b, k):
            return False
    return True


cdef Attrs recent_attrs(Op op, dict given):
    """Return the packed attributes of the last call if `given` is identical, else None."""
    cdef tuple recent = op.recent
    cdef int k
    if recent is None or len(given) != op.c.n_attrs:
        return None
    for k in range(op.c.n_attrs):
        if not is_same(PyDict_GetItem(given, op.attrs[k]), PyTuple_GET_ITEM(recent, k + 1)):
            return None
    return <Attrs>recent[0]


cdef Attrs pack_given(Op op, tuple given):
    """Pack attributes in the order of the record. The last result is cached, because
    the next call usually has the same attributes and packing takes 0.3 us."""
    cdef tuple recent = op.recent
    cdef int k
    cdef list values = []
    cdef bint cacheable = True
    cdef Attrs attrs
    if len(given) != op.c.n_attrs:
        raise TypeError(f"{op.name}: got {len(given)} attributes, expected {list(op.attrs)}")
    if recent is not None:
        for k in range(op.c.n_attrs):
            if not is_same(PyTuple_GET_ITEM(given, k), PyTuple_GET_ITEM(recent, k + 1)):
                break
        else:
            return <Attrs>recent[0]
    for k in range(op.c.n_attrs):
        values.append(clean_attr(op, k, given[k]))
        cacheable = cacheable and is_cacheable(given[k])
    attrs = pack_values(op, tuple(values))
    if cacheable:
        op.recent = (attrs, *given)
    return attrs


cdef Attrs pack_attrs(Op op, dict given):
    """Pack attributes by name."""
    cdef list values = []
    cdef Attrs attrs = recent_attrs(op, given)
    if attrs is not None:
        return attrs
    if len(given) != op.c.n_attrs:
        raise TypeError(f"{op.name}: got attributes {sorted(given)}, expected {list(op.attrs)}")
    for name in op.attrs:
        if name not in given:
            raise TypeError(f"{op.name}: attribute {name} is missing")
        values.append(given[name])
    return pack_given(op, tuple(values))


cdef Attrs pack_values(Op op, tuple values):
    """Pack the results of `clean_attr`, in the order of the record."""
    cdef Attrs attrs = Attrs.__new__(Attrs)
    cdef Py_ssize_t total = 0
    cdef int64_t *at
    cdef int k
    for k in range(op.c.n_attrs):
        if op.c.attrs[k].type == DF_ATTR_INTS:
            total += len(<tuple>values[k])
    attrs.names = op.attrs
    attrs.values = values
    if total:
        attrs.lists = <int64_t *>PyMem_Malloc(total * sizeof(int64_t))
        if attrs.lists == NULL:
            raise MemoryError()
    at = attrs.lists
    for k in range(op.c.n_attrs):
        value = values[k]
        if type(value) is Dim:
            attrs.symbolic = True
            attrs.data_dependent |= (<Dim>value).data_dependent
            value = (<Dim>value).hint
        try:
            if op.c.attrs[k].type == DF_ATTR_FLOAT:
                attrs.c[k].f = value
            elif op.c.attrs[k].type == DF_ATTR_INTS:
                attrs.c[k].list.v = at
                attrs.c[k].list.n = len(<tuple>value)
                for v in <tuple>value:
                    if type(v) is Dim:
                        attrs.symbolic = True
                        attrs.data_dependent |= (<Dim>v).data_dependent
                        v = (<Dim>v).hint
                    at[0] = v
                    at += 1
            else:
                attrs.c[k].i = value
        except OverflowError:
            raise _errors.SizeOverflowError(
                f"{op.name}: {op.attrs[k]} is {value}, which does not fit 64 bits") from None
    return attrs


def make_attrs(Op op, **given):
    """Return the attributes of an op, packed, or None if the op has no attributes."""
    return pack_attrs(op, given) if given or op.c.n_attrs else None


cdef Attrs with_open(Op op, Attrs attrs, bint all_dims):
    """Return the attributes for a shape rule: in attributes whose spec is `open`, DF_OPEN replaces
    every Dim (`all_dims`) or every Dim that depends on data."""
    cdef list values = []
    cdef int k
    for k in range(op.c.n_attrs):
        v = attrs.values[k]
        if op.c.attrs[k].open:
            if type(v) is tuple:
                found = []
                for x in <tuple>v:
                    found.append(DF_OPEN if is_open(x, all_dims) else x)
                v = tuple(found)
            elif is_open(v, all_dims):
                v = DF_OPEN
        values.append(v)
    return pack_values(op, tuple(values))


cdef list open_axes(Op op, Attrs attrs):
    """Return the Dims that depend on data among the axes of an application, in order."""
    cdef list found = []
    cdef int k
    for k in range(op.c.n_attrs):
        if op.c.attrs[k].axis:
            v = attrs.values[k]
            for x in (v if type(v) is tuple else (v,)):
                if is_open(x, False):
                    found.append(x)
    return found


cdef bint is_open(x, bint all_dims):
    return type(x) is Dim and (all_dims or (<Dim>x).data_dependent)


cdef object mapped(Op op, int k, Dim d, value_of):
    v = value_of(d)
    if v is not None:
        return v
    if not op.c.attrs[k].open:
        raise _errors.UnimplementedError(f"{op.name}: {op.attrs[k]} is known only at run time")
    return DF_OPEN


def map_attrs(Op op, Attrs attrs, value_of):
    """Return the attributes with each Dim d replaced by ``value_of(d)``, or by DF_OPEN if that is
    None: the number is known only at run time."""
    cdef list values = []
    cdef int k
    for k in range(op.c.n_attrs):
        v = attrs.values[k]
        if type(v) is Dim:
            v = mapped(op, k, v, value_of)
            if op.c.attrs[k].type == DF_ATTR_FLOAT:
                v = float(v)
        elif type(v) is tuple:
            found = []
            for x in <tuple>v:
                found.append(mapped(op, k, x, value_of) if type(x) is Dim else x)
            v = tuple(found)
        values.append(v)
    return pack_values(op, tuple(values))
