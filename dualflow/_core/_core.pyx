"""One extension module, in parts: each .pxi file is one concept, and uses those included before."""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_REFCNT, Py_XDECREF
from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

cimport cython

import os as _os
import weakref as _weakref

from dualflow._core.csrc cimport *

from dualflow import arguments as _arguments
from dualflow import dtypes as _dtypes
from dualflow import errors as _errors

cdef extern from "Python.h":
    object PyLong_FromLongLong(long long v)
    long long PyLong_AsLongLongAndOverflow(object x, int *overflow) noexcept
    int PyErr_CheckSignals() except -1

cdef extern from *:
    """
    /* Of the core, tracebacks show the innermost function alone: a frame for each would say nothing
       to who reads them. `--checks` shows all (setup.py). One there must be, since generated code
       that catches an exception takes it to have a traceback. */
    #ifndef DF_CORE_FRAMES
    static int df_innermost_frame(PyFrameObject *frame)
    {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        int has_one = traceback != NULL;
        PyErr_Restore(type, value, traceback);
        return has_one ? 0 : PyTraceBack_Here(frame);
    }
    #define PyTraceBack_Here df_innermost_frame
    #endif
    """

cdef extern from "unistd.h" nogil:
    int usleep(unsigned int usec)

include "errors.pxi"      # df_error to exception
include "watch.pxi"       # functions that are entered while something is traced
include "op.pxi"          # Op: handles of the C records
include "tensor.pxi"      # dense tensors: made, described, shared
include "dims.pxi"        # numbers that may change from call to call
include "symbol.pxi"      # tensors of a graph
include "numbers.pxi"     # Python numbers in
include "attrs.pxi"       # attributes, packed
include "records.pxi"     # what a tape keeps
include "functions.pxi"   # functions with a gradient of their own, calls
include "backward.pxi"    # the walker over records
include "claims.pxi"      # who may look at variables and who may write them
include "run.pxi"         # an op, run
include "infer.pxi"       # what an op makes, described
include "dispatch.pxi"    # an op on tensors: run or recorded, after promotion
include "dlpack.pxi"      # DLPack in and out
include "buffers.pxi"     # arrays in
include "convert.pxi"     # Python objects in
include "apply.pxi"       # an op on anything
include "updates.pxi"     # an op on several variables at once
include "interop.pxi"     # buffers and arrays out
include "exchange.pxi"    # memory that others fill, arrays combined along a tree
include "rows.pxi"        # rows of several tensors at once
include "keys.pxi"        # operators with attributes: a @ b, x[key]
include "protocols.pxi"   # what Python asks of tensors
include "variable.pxi"    # the one mutable thing
include "contexts.pxi"    # what is entered and left without a window for signals
include "host.pxi"        # from a running program back into Python
include "beside.pxi"      # what goes on beside a program
include "file.pxi"        # program files, read
include "parts.pxi"       # a program in C form, while it is built
include "lent.pxi"        # memory lent to runs
include "program.pxi"     # programs: built, run, timed
include "kept.pxi"        # what programs compute once
include "call.pxi"        # what a program is bound to, and a run of it
include "patterns.pxi"    # what arguments of a call are like
include "places.pxi"      # places where a trace found values
include "known.pxi"       # calls seen before
include "repeated.pxi"    # logs of tapes seen before
include "runtime.pxi"     # threads, memory, SIMD level
include "sealed.pxi"      # classes that Python cannot make
