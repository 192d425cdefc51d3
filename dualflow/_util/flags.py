"""Process-wide flags, set by functions of `dualflow.config`."""

__all__ = ["Switches"]


class Switches:
    """The flags, as class attributes."""

    functions_run_eagerly = False
    exact_convolutions = False
    passes = True           # defaults of `dualflow.function`
    jit_compile = False
