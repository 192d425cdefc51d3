# The dimensions of tensors as tuples.

from dualflow._util import late_binding as _late_binding

cdef extern from "Python.h":
    object PyTuple_New(Py_ssize_t n)
    void PyTuple_SET_ITEM(object t, Py_ssize_t i, object item)


cdef tuple dims_tuple(int ndim, const int64_t *dims):
    """Return dimensions as a tuple, with None for unknown ones."""
    cdef tuple shape = PyTuple_New(ndim)
    cdef int i
    for i in range(ndim):
        d = None if dims[i] < 0 else PyLong_FromLongLong(dims[i])
        Py_INCREF(d)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(shape, i, d)
    return shape


cdef tuple shape_tuple(const df_tensor *t):
    return dims_tuple(t.ndim, t.shape)


class Shape(tuple):
    """The dimensions of a tensor: a tuple with the attributes of a `TensorShape`.

    It equals the plain tuple and the list of its sizes; slices and sums of shapes are shapes.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.zeros([2, 3])
    >>> x.shape, x.shape.as_list(), x.shape.rank, x.shape[1:] + [4]
    ((2, 3), [2, 3], 2, (3, 4))
    """
    __slots__ = ()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'Shape' object has no attribute {name!r}", name=name, obj=self)
        return getattr(_late_binding.late("tensor_shape").as_tensor_shape(self), name)

    def __add__(self, other):
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        return as_shape((*self, *other))

    def __radd__(self, other):
        if not isinstance(other, (tuple, list)):
            return NotImplemented
        return as_shape((*other, *self))

    def __reduce__(self):
        return tuple, (tuple(self),)


cdef extern from *:
    """
    /* Slices of a Shape are Shapes, and a Shape may equal a list; in C, as most keys are integers
     * and most comparisons are with tuples. The hash stays that of the tuple. */
    static PyObject *df_shape_item(PyObject *shape, PyObject *key);
    static PyObject *df_shape_compare(PyObject *shape, PyObject *other, int how);
    static void df_shape_items(PyObject *type)
    {
        ((PyTypeObject *)type)->tp_as_mapping->mp_subscript = df_shape_item;
        ((PyTypeObject *)type)->tp_richcompare = df_shape_compare;
    }
    static PyObject *df_shape_compare(PyObject *shape, PyObject *other, int how)
    {
        if (!PyList_Check(other) || (how != Py_EQ && how != Py_NE))
            return PyTuple_Type.tp_richcompare(shape, other, how);
        PyObject *dims = PyList_AsTuple(other);
        if (!dims) return NULL;
        PyObject *found = PyTuple_Type.tp_richcompare(shape, dims, how);
        Py_DECREF(dims);
        return found;
    }
    static PyObject *df_shape_new(PyObject *type, Py_ssize_t n)
    {
        return PyType_GenericAlloc((PyTypeObject *)type, n);
    }
    static PyObject *df_shape_item(PyObject *shape, PyObject *key)
    {
        PyObject *found = PyTuple_Type.tp_as_mapping->mp_subscript(shape, key);
        if (!found || !PySlice_Check(key)) return found;
        const Py_ssize_t n = PyTuple_GET_SIZE(found);
        PyObject *made = df_shape_new((PyObject *)Py_TYPE(shape), n);
        for (Py_ssize_t i = 0; made && i < n; i++) {
            PyObject *d = PyTuple_GET_ITEM(found, i);
            Py_INCREF(d);
            PyTuple_SET_ITEM(made, i, d);
        }
        Py_DECREF(found);
        return made;
    }
    """
    void df_shape_items(object kind)
    object df_shape_new(object kind, Py_ssize_t n)


df_shape_items(Shape)
cdef object SHAPE = Shape


cdef object as_shape(tuple dims):
    """Return a Shape with the items of a tuple."""
    cdef object shape = df_shape_new(SHAPE, len(dims))
    cdef Py_ssize_t i
    for i in range(len(dims)):
        d = dims[i]
        Py_INCREF(d)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(shape, i, d)
    return shape


cdef object shape_of_tensor(const df_tensor *t):
    """Return the dimensions as a Shape."""
    cdef object shape = df_shape_new(SHAPE, t.ndim)
    cdef int i
    for i in range(t.ndim):
        d = PyLong_FromLongLong(t.shape[i])
        Py_INCREF(d)
        PyTuple_SET_ITEM(shape, i, d)
    return shape
