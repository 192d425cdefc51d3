"""What a process switches on and off while it runs, by functions of `dualflow.config`."""

__all__ = ["Switches"]


class Switches:
    """The switches, as attributes of the class."""

    functions_run_eagerly = False
    exact_convolutions = False
