"""The extension module dualflow._core._core, assembled from one .pxi file per concept.

A file may use only names of the files included before it (tests/test_core_order.py).
"""

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

from dualflow._util import arguments as _arguments
from dualflow import dtypes as _dtypes
from dualflow import errors as _errors

cdef extern from "Python.h":
    object PyLong_FromLongLong(long long v)
    long long PyLong_AsLongLongAndOverflow(object x, int *overflow) noexcept
    int PyErr_CheckSignals() except -1

cdef extern from *:
    """
    /* Tracebacks show only the innermost function of the core: the others do not help users. A
       build with `--checks` shows all (setup.py). One frame is required, because generated code
       that catches an exception assumes that it has a traceback. */
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

include "errors.pxi"      # translation of df_error into exceptions
include "frame_observer.pxi"  # the Python functions that are entered during a trace
include "op.pxi"          # Op: handles of the C op records
include "shape.pxi"       # Shape: the dimensions of a tensor
include "tensor.pxi"      # allocation and description of dense tensors
include "dims.pxi"        # Dim: a number that may change from call to call
include "symbol.pxi"      # Symbol: a tensor of a graph
include "numbers.pxi"     # conversion of Python numbers
include "attrs.pxi"       # attributes, packed for C
include "records.pxi"     # tape records
include "functions.pxi"   # tape records of calls and of functions with a custom gradient
include "backward.pxi"    # the backward pass over tape records
include "variable_locks.pxi"  # reader/writer locks of variables
include "run.pxi"         # execution of one op
include "infer.pxi"       # shape inference
include "dispatch.pxi"    # an op on tensors: promotion, then execution or recording
include "dlpack.pxi"      # DLPack import and export
include "buffers.pxi"     # import through the buffer protocol
include "convert.pxi"     # conversion of Python objects
include "apply.pxi"       # an op on operands of any kind
include "updates.pxi"     # an op on several variables at once
include "interop.pxi"     # export to buffers, NumPy and pickles
include "buffer_exchange.pxi"  # writable buffers, tree reduction
include "rows.pxi"        # rows of several tensors at once
include "keys.pxi"        # operators with attributes: a @ b, x[key]
include "protocols.pxi"   # Python protocols of tensors
include "variable.pxi"    # Variable: the only mutable tensor
include "contexts.pxi"    # context managers that signals cannot interrupt halfway
include "host.pxi"        # callbacks from a running program into Python
include "async_host.pxi"  # asynchronous host calls
include "file.pxi"        # program files
include "parts.pxi"       # a program in C form, while it is built
include "donated_arguments.pxi"  # arguments that a run frees early
include "program.pxi"     # Program: built, run, timed
include "cached_results.pxi"  # results cached until a variable changes
include "call.pxi"        # Executable: a program bound to arguments and variables
include "argument_guards.pxi"  # guards on the arguments of a call
include "state_guards.pxi"  # guards on the values that Python read during a trace
include "dispatch_cache.pxi"  # the dispatch cache of traced functions
include "tape_cache.pxi"  # the cache of tapes and their compiled backward passes
include "runtime.pxi"     # threads, memory, SIMD level
include "disallow_new.pxi"  # classes that Python code cannot instantiate
