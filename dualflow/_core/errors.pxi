# The only translation of C errors into exceptions: a table, not an if-chain.
cdef tuple ERRORS = _errors.BY_STATUS


cdef int check(df_status status, df_error *err) except -1:
    if status != DF_OK:
        raise ERRORS[<int>status](err.text.decode("utf-8", "replace"))
    return 0


def _start():
    cdef df_error err
    check(df_registry_init(&err), &err)


_start()
