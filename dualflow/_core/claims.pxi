# Who may read variables, who may write them, and when.
#
# Whoever writes variables holds them: an op that runs at once, or a run of a program, which lets
# other threads in where it releases the GIL and where it calls Python. All that one claim asks for
# is granted together. Values can be read whenever C is not working on them: even in the middle of
# a run, while that calls Python, and then as a copy; they are what eager mode would have shown
# there, because effects keep their order.
#
# Claims that cannot be granted yet wait in a queue. Whoever lets variables go serves it: it hands
# values to those that want to read, and holds for others what they want to write. So a thread that
# writes all the time starves nobody. Everything here happens with the GIL held.

cdef extern from "pythread.h" nogil:
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long us, int interruptible)
    void PyThread_release_lock(PyThread_type_lock lock)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    /* The innermost claim that this thread holds. */
    static DF_THREAD_LOCAL void *df_claim_top = NULL;
    """
    void *df_claim_top

cdef extern from "pthread.h" nogil:
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept,
                       void (*child)() noexcept)


cdef enum:
    MAX_WRITTEN = 32           # operands that an op may write: bits of df_op.writes
    LOOK_AGAIN_US = 50000      # nobody rings when a run calls Python and Python then waits
    FORK_US = 100              # between two checks by a thread that forks


cdef Claim *waiting = NULL     # longest first
cdef Claim *holding = NULL     # those that write
cdef unsigned long forking = 0     # the thread that forks: nobody else may begin to write


cdef Tensor look(Variable v):
    """The value. One that is going to be written in place is copied."""
    return v.value_ if v.writer == NULL else copied_value(v)


cdef Tensor copied_value(Variable v):
    cdef Tensor fresh = duplicate(v.value_)
    fresh.id = v.id
    fresh.watch = v.value_.watch
    return fresh


cdef int make_exclusive(Variable v) except -1:
    """Makes sure nobody else sees the memory an op is about to write."""
    cdef Tensor value = v.value_            # one more reference
    v.version += 1
    if Py_REFCNT(value) > 2 or not df_buffer_is_exclusive(value.t.buffer):
        v.value_ = copied_value(v)
    return 0


cdef int stake(Claim *c) except -1:
    """Waits until `c` can be granted: its values are then filled in, and what it writes is held
    until `let_go`. A claim that writes nothing is over at once."""
    global df_claim_top
    c.outer = <Claim *>df_claim_top
    c.thread = PyThread_get_thread_ident()
    c.working = c.granted = c.failed = c.away = False
    if not is_possible(c) or is_behind(c):
        wait_in_queue(c)
    else:
        grant(c)
    if c.n_writes:
        df_claim_top = c
    return 0


cdef void let_go(Claim *c) noexcept:
    global df_claim_top
    df_claim_top = c.outer
    give_back(c)
    if waiting != NULL:
        serve()


cdef void give_back(Claim *c) noexcept nogil:
    cdef int k
    for k in range(c.n_writes):
        (<Variable>c.writes[k]).writer = NULL
    unlink(&holding, c)


cdef void unlink(Claim **first, Claim *c) noexcept nogil:
    while first[0] != NULL:
        if first[0] == c:
            first[0] = c.next
            return
        first = &first[0].next


cdef Tensor value_when_possible(Variable v):
    """The value of a variable that somebody writes."""
    cdef PyObject *variable = <PyObject *>v
    cdef PyObject *value = NULL
    cdef Claim c
    cdef Tensor x
    c.n_reads, c.n_writes = 1, 0
    c.reads = &variable
    c.values = &value
    stake(&c)
    x = <Tensor>value
    Py_DECREF(x)
    return x


cdef Tensor read_variable(Variable v):
    """The value of a variable: now, or while a graph records, the Symbol of its current version."""
    cdef PyObject *watch
    if df_trace_top != NULL:
        watch = pause_watch()
        try:
            return <Tensor?>(<object>df_trace_top).read(v)
        finally:
            resume_watch(watch)
    return v.value_ if v.writer == NULL else value_when_possible(v)


def values_together(list variables not None):
    """The values of variables at one moment: no run that writes several of them is halfway."""
    cdef Py_ssize_t k, n = len(variables)
    cdef PyObject **place = <PyObject **>PyMem_Malloc((2 * n + 1) * sizeof(PyObject *))
    cdef list found = []
    cdef Claim c
    if place == NULL:
        raise MemoryError()
    try:
        for k in range(n):
            place[k] = <PyObject *><Variable?>variables[k]
        c.n_reads, c.n_writes = <int>n, 0
        c.reads, c.values = place, place + n
        stake(&c)
        for k in range(n):
            found.append(<Tensor>c.values[k])
            Py_DECREF(<Tensor>c.values[k])
    finally:
        PyMem_Free(place)
    return found


cdef bint is_possible(const Claim *c) noexcept:
    cdef Claim *writer
    cdef int k
    if forking and c.n_writes and forking != c.thread:
        return False
    for k in range(c.n_reads):
        writer = (<Variable>c.reads[k]).writer
        if writer != NULL and writer.working:
            return False
    for k in range(c.n_writes):
        if (<Variable>c.writes[k]).writer != NULL:
            return False
    return True


cdef bint is_behind(const Claim *c) noexcept:
    """Whether somebody has waited longer for what `c` writes. A thread that already holds something
    is let through: others may be waiting for it."""
    cdef int k
    if c.outer == NULL:
        for k in range(c.n_writes):
            if (<Variable>c.writes[k]).wanted:
                return True
    return False


cdef int grant(Claim *c) except -1:
    global holding
    cdef int k, n
    for k in range(c.n_reads):
        try:
            x = look(<Variable>c.reads[k])
        except MemoryError:
            for n in range(k):
                Py_DECREF(<object>c.values[n])
            raise
        Py_INCREF(x)
        c.values[k] = <PyObject *>x
    for k in range(c.n_writes):
        (<Variable>c.writes[k]).writer = c
    if c.n_writes:
        c.next = holding
        holding = c
    c.granted = True
    return 0


# --- the queue -----------------------------------------------------------------------------------


cdef void want(const Claim *c, bint wanted) noexcept:
    cdef int k
    for k in range(c.n_reads):
        (<Variable>c.reads[k]).wanted = wanted
    for k in range(c.n_writes):
        (<Variable>c.writes[k]).wanted = wanted


cdef void serve() noexcept:
    """Grants what can be granted now, in the order in which it was asked for."""
    cdef Claim *c = waiting
    cdef Claim *next
    while c != NULL:
        want(c, False)
        c = c.next
    c = waiting
    while c != NULL:
        next = c.next
        if not c.away:
            if is_possible(c) and not is_behind(c):
                unlink(&waiting, c)
                try:
                    grant(c)
                except MemoryError:
                    c.failed = True
                PyThread_release_lock(c.bell)
            else:
                want(c, True)
        c = next


cdef int wait_in_queue(Claim *c) except -1:
    global waiting
    cdef Claim **last = &waiting
    if c.outer != NULL:
        check_for_deadlock(c)
    c.bell = PyThread_allocate_lock()
    if c.bell == NULL:
        raise MemoryError()
    PyThread_acquire_lock(c.bell, 0)
    while last[0] != NULL:
        last = &last[0].next
    c.next = NULL
    last[0] = c
    want(c, True)
    try:
        while not c.granted and not c.failed:
            with nogil:
                PyThread_acquire_lock_timed(c.bell, LOOK_AGAIN_US, 1)
            if not c.granted and not c.failed:
                run_handlers(c)
    except:                                # Ctrl-C
        unlink(&waiting, c)
        want(c, False)
        serve()
        raise
    finally:
        PyThread_free_lock(c.bell)
    if c.failed:
        raise _errors.ResourceExhaustedError("no memory for a copy of a variable's value")
    return 0


cdef int run_handlers(Claim *c) except -1:
    """Runs the handlers of pending signals: what they ask for does not queue behind `c`."""
    c.away = True
    PyErr_CheckSignals()
    c.away = False
    serve()
    return 0


cdef int check_for_deadlock(Claim *c) except -1:
    """Raises where a thread that holds variables asks for some that would never be let go: held by
    itself, or by a thread that waits for it, directly or not."""
    cdef Claim *w = waiting
    cdef PyObject *v
    cdef bint more = True
    while w != NULL:
        w.stuck = False
        w = w.next
    while more:
        more = False
        w = waiting
        while w != NULL:
            if not w.stuck and not w.away and needs_stuck(w, c.thread) != NULL:
                w.stuck = more = True
            w = w.next
    v = needs_stuck(c, c.thread)
    if v != NULL:
        raise _errors.InUseError(
            f"{(<Variable>v).name} cannot be assigned here: a program that writes it waits for "
            "this code, which it called; it can be read")
    return 0


cdef PyObject *needs_stuck(const Claim *c, unsigned long thread) noexcept:
    """A variable that `c` writes and that is held by the thread, or by one that waits for it."""
    cdef Claim *writer
    cdef Claim *w
    cdef int k
    for k in range(c.n_writes):
        writer = (<Variable>c.writes[k]).writer
        if writer == NULL:
            continue
        if writer.thread == thread:
            return c.writes[k]
        w = waiting
        while w != NULL:
            if w.stuck and w.thread == writer.thread:
                return c.writes[k]
            w = w.next
    return NULL


# --- where C works, and where it calls Python ----------------------------------------------------


cdef void begin_work(Claim *c) noexcept:
    while forking and forking != c.thread:
        with nogil:
            usleep(FORK_US)
    c.working = True


cdef bint pause_work() noexcept:
    """Python is about to run inside what this thread runs: whether C was working on variables."""
    cdef Claim *c = <Claim *>df_claim_top
    cdef bint working = c != NULL and c.working
    if working:
        c.working = False
    return working


cdef void resume_work(bint working) noexcept:
    if working:
        begin_work(<Claim *>df_claim_top)


# --- forks ---------------------------------------------------------------------------------------
# A fork waits until C works on no variable, except for the thread that forks: the child then has
# complete values.


def _before_fork():
    global forking
    cdef unsigned long thread = PyThread_get_thread_ident()
    while forking:
        with nogil:
            usleep(FORK_US)
    forking = thread
    while others_work():
        with nogil:
            usleep(FORK_US)


cdef bint others_work() noexcept:
    cdef Claim *c = holding
    while c != NULL:
        if c.working and c.thread != forking:
            return True
        c = c.next
    return False


def _after_fork():
    global forking
    forking = 0
    serve()


cdef void forget_others() noexcept nogil:
    """In the child, inside the fork: the claims of threads it does not have are on stacks that new
    threads may reuse."""
    cdef Claim *c = holding
    cdef Claim *next
    if not forking:                        # Python was not told: C forks in order to exec
        return
    while c != NULL:
        next = c.next
        if c.thread != forking:
            give_back(c)
        c = next
    c = waiting
    while c != NULL:
        next = c.next
        if c.thread != forking:
            unlink(&waiting, c)
        c = next


pthread_atfork(NULL, NULL, forget_others)
_os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
