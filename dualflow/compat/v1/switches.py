"""Switches between the behaviour of TensorFlow 1 and 2; all are accepted, TensorFlow 1 applies."""

from __future__ import annotations

from typing import Any

from dualflow.compat.v1.defaults import disable_eager_execution

__all__ = ["disable_control_flow_v2", "disable_resource_variables", "disable_tensor_equality",
           "disable_v2_behavior", "disable_v2_tensorshape", "enable_resource_variables",
           "enable_tensor_equality", "resource_variables_enabled"]


def disable_v2_behavior() -> None:
    """Select graph mode, the initial mode.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.disable_v2_behavior()
    >>> tf.executing_eagerly()
    False
    """
    disable_eager_execution()


def switch(name: str, does: str) -> Any:
    """Return a function that has no effect."""
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
                                      "there is one implementation of control flow")
disable_resource_variables: Any = switch("disable_resource_variables",
                                         "there is one kind of variable")
enable_resource_variables: Any = switch("enable_resource_variables",
                                        "there is one kind of variable")
disable_tensor_equality: Any = switch("disable_tensor_equality", "`==` compares identities")
enable_tensor_equality: Any = switch("enable_tensor_equality",
                                     "`==` compares identities of tensors of a graph")
disable_v2_tensorshape: Any = switch("disable_v2_tensorshape", "shapes are TensorFlow 1's")


def resource_variables_enabled() -> bool:
    """Return False; variables are not resources.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.resource_variables_enabled()
    False
    """
    return False
