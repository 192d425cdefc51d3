# Threads, memory and SIMD level of the process; dualflow.config is the public face.

def isa():
    """The SIMD level in use."""
    return df_registry_isa().decode()


def num_threads():
    return df_num_threads()


def set_num_threads(int n):
    cdef df_error err
    check(df_set_num_threads(n, &err), &err)


def cpu_cores():
    return df_cpu_cores()


def memory_stats():
    cdef df_memory_stats s = df_memory()
    return {"live": s.live, "peak": s.peak, "cached": s.cached}


def trim_memory():
    df_memory_trim()


def reset_peak_memory():
    df_memory_reset_peak()
