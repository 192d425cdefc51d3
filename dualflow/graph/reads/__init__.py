"""Python state that a trace depends on. `paths` finds the reads of a code object in its bytecode;
`state_reads` resolves them on the current objects."""
