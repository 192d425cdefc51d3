"""Tracing: one run of a Python function with Symbols records a graph.

Data passes through the files in this order:

1. `parameters` and `dims` describe the inputs: arguments, numbers that may change, sizes.
2. `trace` records each application that the core passes to it, with `names` for node names and
   `messages` for the errors of traced tensors that are used as numbers.
3. Python's requests for values: `unrolled` (iteration), `decisions` (comparison of sizes that
   depend on data), `as_dims` and `axes` (traced integers as attributes), `known` (values that do
   not depend on a run).
4. `control` (ops that take functions) and `open` (converted statements) record branches and loops.
   `bodies` moves the recorded nodes into the node that owns them, `outliner` does so for calls.
5. Gradients: `control_gradient` is the gradient rule of such a node and transposes it with
   `cond_gradient`, `loop_gradient`, `cotangents` and `undefined`. `play`, `record_call`,
   `record_loop` and `refused` record existing nodes and calls for tapes or for another trace.
6. `specialize` copies the trace to a graph for the sizes of one call, with `computed` for numbers
   that a run computes from its arguments; `dynamic` adds the nodes that compute sizes which depend
   on data. The graph goes to `graph.passes`.

`dry` uses steps 1 to 4 for abstract evaluation.
"""
