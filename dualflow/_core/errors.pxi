# Translation of C errors into exceptions, by a table: `check` gets every status of the C core.
cdef tuple ERRORS = _errors.BY_STATUS


cdef extern from *:
    """
    /* Raises the exception that a callback has left in the thread state, if any. */
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
    check(df_check_num_threads(&err), &err)
    check(df_check_bfloat16(&err), &err)


_start()
