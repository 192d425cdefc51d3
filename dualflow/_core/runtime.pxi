# Threads, memory and SIMD level of the process, and counters that several threads use. The public
# functions are in dualflow.config and dualflow.memory. All state belongs to the process.

def isa():
    """Return the SIMD level in use."""
    return df_registry_isa().decode()


def num_threads():
    return df_num_threads()


def set_num_threads(int n):
    cdef df_error err
    check(df_set_num_threads(n, &err), &err)


def thread_counts():
    """Return counters of the thread pool: shared jobs, their chunks, chunks run by workers, and
    jobs run by their caller alone because another job held the workers."""
    cdef df_thread_counts c = df_count_threads()
    return {"jobs": c.jobs, "chunks": c.chunks, "by_workers": c.by_workers, "refused": c.refused}


def cpu_cores():
    return df_cpu_cores()


def memory_stats():
    cdef df_memory_stats s = df_memory()
    return {"live": s.live, "peak": s.peak, "cached": s.cached,
            "allocations": s.allocations}


def memory_by_thread():
    """Return the bytes in use by the thread that allocated them, as a dict by native thread id."""
    cdef df_thread_memory all[DF_MEMORY_THREADS]
    cdef int k, n = df_memory_by_thread(all)
    cdef dict found = {}
    for k in range(n):
        found[all[k].thread] = found.get(all[k].thread, 0) + all[k].live
    return found


def trim_memory():
    df_memory_trim()


def reset_peak_memory():
    df_memory_reset_peak()


# --- state that threads and signal handlers share ------------------------------------------------
# Neither interrupts a call of C, so a change within one call needs no lock.

@cython.final
cdef class Counter:
    """A 64-bit counter that wraps around. `advance` returns the value before the increment."""
    cdef public int64_t value
    cdef unsigned long last_thread

    def __init__(self, int64_t value=0):
        self.value = value

    def go_back(self):
        """Undo the last `advance` of this thread, unless another thread has advanced since."""
        if self.last_thread == PyThread_get_thread_ident():
            self.value = <int64_t>(<uint64_t>self.value - 1)

    def advance(self):
        cdef int64_t before = self.value
        self.last_thread = PyThread_get_thread_ident()
        self.value = <int64_t>(<uint64_t>before + 1)
        return before
