# Classes that only this module instantiates. Their C fields are set after `__new__`, so `__new__`
# raises in Python; this module calls the C function. A new class of this kind is listed below.

cdef extern from *:
    """
    static PyObject *df_refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
    {
        PyErr_Format(PyExc_TypeError, "%.200s is created by ops; use dualflow.constant(value)",
                     _PyType_Name(type));
        return NULL;
    }

    static PyObject *df_refuse_internal(PyTypeObject *type, PyObject *args, PyObject *kwargs)
    {
        PyErr_Format(PyExc_TypeError, "%.200s is created only by dualflow", _PyType_Name(type));
        return NULL;
    }

    static void df_disallow_new(PyObject *type, int is_tensor)
    {
        PyTypeObject *t = (PyTypeObject *)type;
        t->tp_new = is_tensor ? df_refuse_new : df_refuse_internal;
        t->tp_vectorcall = NULL;       /* a shortcut past tp_new */
        PyType_Modified(t);
    }

    /* The name is never freed, like the type. */
    static void df_rename(PyObject *type, const char *package)
    {
        PyTypeObject *t = (PyTypeObject *)type;
        const char *name = _PyType_Name(t);
        char *full = PyMem_Malloc(strlen(package) + strlen(name) + 1);
        if (full == NULL) return;
        t->tp_name = strcat(strcpy(full, package), name);
        PyType_Modified(t);
    }
    """
    void df_disallow_new(object type, bint is_tensor)
    void df_rename(object type, const char *package)


for internal in (TensorBase, Tensor, Symbol):
    df_disallow_new(internal, True)
for internal in (Op, Attrs, Record, BackwardPass, ArgumentGuard, LeafGuard, TensorGuard,
                 ContainerGuard, NumberGuard, ValueGuard,
                 CachedTape, ExpectedValue, StateGuard, BoundFunction):
    df_disallow_new(internal, False)
del internal

# Messages and reprs show classes under their public names.
for kind in list(globals().values()):
    if type(kind) is type and getattr(kind, "__module__", "") == "dualflow._core._core":
        df_rename(kind, b"dualflow." if kind in (Tensor, TensorBase, TensorSpec, Variable)
                  else b"dualflow._core.")
del kind
