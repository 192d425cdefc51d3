# Watch: reports the Python functions that a thread enters during a trace, through a CPython profile
# function. A profile function slows Python down, so it is removed while only package code runs:
# `pause_observer` and `resume_observer` must be paired.

cdef extern from *:
    """
    static _Thread_local PyObject *df_observer; /* the Watch that notes, borrowed */
    static _Thread_local PyObject *df_tracing_observer; /* the same, also while it is paused */
    static PyObject *df_frame_code(PyFrameObject *frame)
    {
        return (PyObject *)PyFrame_GetCode(frame);
    }
    """
    PyObject *df_observer
    PyObject *df_tracing_observer
    PyObject *df_frame_code(PyFrameObject *frame)

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        int f_lineno                # or anything else: only pointers to it exist here
    ctypedef int (*Py_tracefunc)(PyObject *, PyFrameObject *, int, PyObject *) except -1
    ctypedef struct PyThreadState:
        Py_tracefunc c_profilefunc
        PyObject *c_profileobj
    PyThreadState *PyThreadState_Get()
    void PyEval_SetProfile(Py_tracefunc call, PyObject *x)
    int PyTrace_CALL


cdef dict passed_over = {}         # code that no Watch reports, such as library code, by id


@cython.final
cdef class FrameObserver:
    """A context in which the Python functions that this thread enters are reported.

    Parameters
    ----------
    entered : callable (code, frame) -> bool or None
        Called when a frame begins to run; False: not again for this code, None: in no context.

    Attributes
    ----------
    values_read : dict of int to Tensor
        By id, the tensors whose elements this thread copied to Python inside the context.
    """
    cdef readonly dict values_read
    cdef object entered
    cdef dict passed               # code that this Watch no longer reports, by id
    cdef Py_tracefunc before
    cdef object of_before
    cdef PyObject *around
    cdef PyObject *tracing_around

    def __cinit__(self, entered not None):
        self.entered = entered
        self.passed = {}
        self.values_read = {}

    def __enter__(self):
        cdef PyThreadState *state = PyThreadState_Get()
        global df_observer, df_tracing_observer
        self.tracing_around, df_tracing_observer = df_tracing_observer, <PyObject *>self
        self.before = state.c_profilefunc
        self.of_before = None if state.c_profileobj == NULL else <object>state.c_profileobj
        self.around = df_observer
        if self.around != NULL:             # the outer Watch does not see frames of an inner trace
            self.before = (<FrameObserver>self.around).before
            self.of_before = (<FrameObserver>self.around).of_before
        df_observer = <PyObject *>self
        PyEval_SetProfile(on_event, df_observer)
        return self

    def __exit__(self, kind, value, trace):
        global df_observer, df_tracing_observer
        df_observer, df_tracing_observer = self.around, self.tracing_around
        if df_observer != NULL:
            PyEval_SetProfile(on_event, df_observer)
        elif self.before == NULL:
            PyEval_SetProfile(NULL, NULL)
        else:
            PyEval_SetProfile(self.before, <PyObject *>self.of_before)
        self.of_before = None

    cdef int enter(self, PyFrameObject *frame) except -1:
        code = <object>df_frame_code(frame)
        Py_DECREF(code)                     # df_frame_code returns a new reference
        key = <size_t><PyObject *>code
        if key in passed_over or key in self.passed:
            return 0
        again = self.entered(code, <object><PyObject *>frame)
        if again is None:
            passed_over[key] = code
        elif not again:
            self.passed[key] = code
        return 0


cdef int on_event(PyObject *observer, PyFrameObject *frame, int what, PyObject *arg) except -1:
    cdef FrameObserver self = <FrameObserver>observer
    if self.before != NULL:
        self.before(<PyObject *>self.of_before, frame, what, arg)
    return self.enter(frame) if what == PyTrace_CALL else 0


cdef inline PyObject *pause_observer() noexcept:
    """Remove the profile function of this thread. Return the argument for `resume_observer`."""
    global df_observer
    cdef PyObject *observer = df_observer
    # a profiler of the user stays on
    if observer == NULL or (<FrameObserver>observer).before != NULL:
        return NULL
    df_observer = NULL
    PyEval_SetProfile(NULL, NULL)
    return observer


cdef inline void resume_observer(PyObject *observer) noexcept:
    global df_observer
    if observer != NULL:
        df_observer = observer
        PyEval_SetProfile(on_event, observer)


def unobserved(function):
    """Decorator for package functions that call no user function: the Watch is paused in them."""
    def call(*args, **kwargs):
        cdef PyObject *observer = pause_observer()
        try:
            return function(*args, **kwargs)
        finally:
            resume_observer(observer)

    return call
