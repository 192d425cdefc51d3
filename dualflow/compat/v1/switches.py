"""Switches between TensorFlow 1 and 2: programs turn them, and all is as in 1 in any case."""

from __future__ import annotations

from typing import Any

from dualflow.compat.v1.defaults import disable_eager_execution

__all__ = ["disable_control_flow_v2", "disable_resource_variables", "disable_tensor_equality",
           "disable_v2_behavior", "disable_v2_tensorshape", "enable_resource_variables",
           "resource_variables_enabled"]


def disable_v2_behavior() -> None:
    """All is as in TensorFlow 1, as it is from the start.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.disable_v2_behavior()
    >>> tf.executing_eagerly()
    False
    """
    disable_eager_execution()


def switch(name: str, does: str) -> Any:
    """A switch that changes nothing."""
    def turn() -> None:
        return None

    turn.__name__ = turn.__qualname__ = name
    turn.__doc__ = f"""Accepted; {does}.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.{name}()
    """
    return turn


disable_control_flow_v2: Any = switch("disable_control_flow_v2",
                                      "branches and loops are one thing here")
disable_resource_variables: Any = switch("disable_resource_variables",
                                         "there is one kind of variable")
enable_resource_variables: Any = switch("enable_resource_variables",
                                        "there is one kind of variable")
disable_tensor_equality: Any = switch("disable_tensor_equality", "`==` compares identities")
disable_v2_tensorshape: Any = switch("disable_v2_tensorshape", "shapes are those of TensorFlow 1")


def resource_variables_enabled() -> bool:
    """Whether variables are resources, as a program may ask; they are in neither form.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.resource_variables_enabled()
    False
    """
    return False
