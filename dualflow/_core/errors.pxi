# The only translation of C errors into exceptions: a table, not an if-chain.
cdef tuple ERRORS = _errors.BY_STATUS


cdef extern from *:
    """
    /* What a callback left behind: Python keeps the exception with the thread. */
    static int raise_pending(void) { return PyErr_Occurred() ? -1 : 0; }
    """
    int raise_pending() except -1


cdef int check(df_status status, df_error *err) except -1:
    if status != DF_OK:
        raise ERRORS[<int>status](err.text.decode("utf-8", "replace"))
    return 0


def _start():
    cdef df_error err
    check(df_registry_init(&err), &err)


_start()
