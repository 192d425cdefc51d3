"""The fields of objects that all parts know; what they do comes later, part by part."""

from libc.stdint cimport int64_t, uint64_t

cimport cython
from cpython.object cimport PyObject

from dualflow._core.csrc cimport df_tensor

cdef extern from "pythread.h" nogil:
    ctypedef void *PyThread_type_lock


cdef struct Claim:
    # What a thread may look at and write: see claims.pxi.
    int n_reads, n_writes
    PyObject **reads           # Variables
    PyObject **writes
    PyObject **values          # of `reads`, owned by the claim's maker
    Claim *next                # of those that wait, or of those that hold
    Claim *outer               # what the thread held already
    unsigned long thread
    PyThread_type_lock bell
    bint working               # C is working on what it writes: nobody may look
    bint granted
    bint failed                # there was no memory for a value
    bint away                  # its thread runs a signal handler, and is not waiting meanwhile
    bint stuck                 # waits for the thread that is asking


cdef class TensorBase:
    pass


cdef class Tensor(TensorBase):
    cdef df_tensor t
    cdef uint64_t id
    cdef bint watch            # value of a trainable variable: tapes watch it automatically
    cdef PyObject *slice_of    # (variable, key) if it is part of a variable's value, or NULL; owned
    cdef object __weakref__


@cython.final
cdef class Symbol(Tensor):
    cdef public object node
    cdef public int index
    cdef readonly object graph
    cdef readonly bint from_data
    cdef readonly bint sized_by_data
    cdef readonly object row    # of values that a loop stacks: a Symbol like one of them, or None
    cdef tuple unknown          # a bool per dimension; None: all are known
    cdef tuple dims             # what `shape` gives where some are unknown
    cdef tuple part_of          # what `slice_of` is, where the collector of cycles sees it


@cython.final
cdef class Variable(TensorBase):
    cdef Tensor value_
    cdef readonly str name
    cdef readonly bint trainable
    cdef uint64_t id
    cdef Claim *writer         # who writes it now
    cdef bint wanted           # somebody waits for it: see claims.pxi
    cdef uint64_t version      # how often the value has changed
    cdef bint made
    cdef object __weakref__
