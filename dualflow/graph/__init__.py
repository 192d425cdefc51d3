"""Graph mode. A call goes through `calls`, `trace`, `passes` and `program`; `ir` is the
representation in between, `reads` finds the Python state of a trace, `inspect` shows the results.
"""
