"""Fields of the classes that all parts of the core use; the methods are in the .pxi files.

Only fields may be declared here: a C method could hide a call into a later part.
"""

from libc.stdint cimport int64_t, uint64_t

cimport cython
from cpython.object cimport PyObject

from dualflow._core.csrc cimport df_tensor

cdef extern from "pythread.h" nogil:
    ctypedef void *PyThread_type_lock


cdef struct LockRequest:
    # A lock request: the variables that a thread reads and writes (variable_locks.pxi).
    int n_reads, n_writes
    PyObject **reads           # Variables
    PyObject **writes
    PyObject **values          # of `reads`: references owned by the creator of the request
    LockRequest *next          # in the queue, or in the list of granted requests
    LockRequest *outer         # the innermost request that the thread held before, or NULL
    unsigned long thread
    PyThread_type_lock wakeup
    bint working               # C is writing the variables: no thread may read them
    bint granted
    bint failed                # out of memory for the copy of a value
    bint away                  # its thread runs a signal handler and does not wait
    bint stuck                 # waits for the thread that checks for a deadlock


cdef class TensorBase:
    pass


cdef class Tensor(TensorBase):
    cdef df_tensor t
    cdef uint64_t id
    cdef bint watch            # value of a trainable variable: tapes watch it automatically
    cdef PyObject *slice_of    # (variable, key) if it is ``variable[key]``, or NULL; owned
    cdef object __weakref__


@cython.final
cdef class Symbol(Tensor):
    cdef public object node
    cdef public int index
    cdef readonly object graph
    cdef readonly bint data_dependent
    cdef readonly bint data_dependent_shape
    cdef readonly object row    # if a loop stacks rows in it: a Symbol like one row, else None
    cdef tuple unknown          # a bool per dimension; None: all are known
    cdef tuple dims             # the cached shape if a dimension is unknown
    cdef tuple part_of          # like `slice_of`, but visible to the garbage collector


@cython.final
cdef class Variable(TensorBase):
    cdef Tensor value_
    cdef readonly str name
    cdef readonly bint trainable
    cdef uint64_t id
    cdef LockRequest *writer   # the request that holds its write lock, or NULL
    cdef bint wanted           # a queued request names it (variable_locks.pxi)
    cdef uint64_t version      # number of changes of the value
    cdef bint made
    cdef object __weakref__
