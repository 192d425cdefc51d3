"""Options of saving and loading that TensorFlow has: stored, and without effect on one CPU."""

from __future__ import annotations

from typing import Any

__all__ = ["CheckpointOptions", "LoadOptions", "SaveOptions"]


class _Options:
    """Options that are attributes."""

    def __repr__(self) -> str:
        given = ", ".join([f"{name}={x!r}" for name, x in vars(self).items()])
        return f"{type(self).__name__}({given})"


class SaveOptions(_Options):
    """The argument `options` of `df.saved_model.save`. The arguments become attributes and have no
    effect.

    Examples
    --------
    >>> import dualflow as df
    >>> df.saved_model.SaveOptions(experimental_io_device="/job:localhost").save_debug_info
    False
    """

    def __init__(self, namespace_whitelist: Any = None, save_debug_info: bool = False,
                 function_aliases: Any = None, experimental_debug_stripper: bool = False,
                 experimental_io_device: Any = None, experimental_variable_policy: Any = None,
                 experimental_custom_gradients: bool = True,
                 experimental_image_format: bool = False, experimental_skip_saver: bool = False,
                 experimental_sharding_callback: Any = None, extra_tags: Any = None) -> None:
        self.namespace_whitelist = list(namespace_whitelist or ())
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions(_Options):
    """The argument `options` of `df.saved_model.load`. The arguments become attributes and have no
    effect.

    Examples
    --------
    >>> import dualflow as df
    >>> df.saved_model.LoadOptions().allow_partial_checkpoint
    False
    """

    def __init__(self, allow_partial_checkpoint: bool = False, experimental_io_device: Any = None,
                 experimental_skip_checkpoint: bool = False,
                 experimental_variable_policy: Any = None,
                 experimental_load_function_aliases: bool = False) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases


class CheckpointOptions(_Options):
    """The argument `options` of the methods of `df.train.Checkpoint`. The arguments become
    attributes and have no effect.

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.CheckpointOptions(enable_async=True).enable_async
    True
    """

    def __init__(self, experimental_io_device: Any = None,
                 experimental_enable_async_checkpoint: bool = False,
                 experimental_write_callbacks: Any = None, enable_async: bool = False,
                 experimental_skip_slot_variables: bool = False,
                 experimental_sharding_callback: Any = None) -> None:
        self.experimental_io_device = experimental_io_device
        self.experimental_enable_async_checkpoint = experimental_enable_async_checkpoint
        self.experimental_write_callbacks = experimental_write_callbacks
        self.enable_async = enable_async
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback
