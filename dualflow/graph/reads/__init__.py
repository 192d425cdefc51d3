"""Python state that a trace depends on: `paths` finds reads in bytecode, `watch` resolves them."""
