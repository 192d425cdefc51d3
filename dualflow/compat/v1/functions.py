"""Functions of tensors: custom gradients, templates that share variables, and Hessians."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.gradients import gradients
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.scopes import variable_scope

__all__ = ["custom_gradient", "hessians", "make_template"]


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Define the gradient of a function: `f` returns its result and a function that maps the
    cotangent of the result to the cotangents of the arguments.

    Parameters
    ----------
    f : callable

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> @tf.custom_gradient
    ... def clipped(x):
    ...     return tf.identity(x), lambda g: tf.clip_by_value(g, -1., 1.)
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(3.)
    ...     print(sess.run(tf.gradients(clipped(x) * 5., x)))
    [np.float32(1.0)]
    """
    own = df.custom_gradient(f)

    @functools.wraps(f)
    def applied(*args: Any, **kwargs: Any) -> Any:
        return own(*[convert(x) for x in args], **kwargs)

    return recorded(applied)


def make_template(name_: str, func_: Callable[..., Any], create_scope_now_: bool = False,
                  unique_name_: str | None = None, custom_getter_: Any = None,
                  **kwargs: Any) -> Callable[..., Any]:
    """Return a function whose calls share the variables that the first call creates.

    Parameters
    ----------
    name_ : str
        Name of the scope of the variables with a unique suffix.
    func_ : callable
    create_scope_now_ : bool, default False
        Whether to open the scope now instead of in the first call.
    unique_name_ : str, optional
        Name of the scope, used unchanged.
    custom_getter_ : callable, optional
    **kwargs
        Arguments passed to every call.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     scaled = tf.make_template("scale", lambda x: x * tf.get_variable("w", []))
    ...     y, z = scaled(tf.constant(1.)), scaled(tf.constant(2.))
    ...     [v.name for v in tf.global_variables()]
    ['scale/w:0']
    """
    scopes: list[Any] = []
    if create_scope_now_:
        with variable_scope(unique_name_, name_, custom_getter=custom_getter_) as scope:
            scopes.append(scope)
    called: list[bool] = []

    @functools.wraps(func_)
    def template(*args: Any, **more: Any) -> Any:
        if scopes:
            context = variable_scope(scopes[0], reuse=True if called else None)
        else:
            context = variable_scope(unique_name_, name_, custom_getter=custom_getter_)
        with context as scope:
            scopes[:] = scopes or [scope]
            made = func_(*args, **{**kwargs, **more})
        called.append(True)
        return made

    return template


@recorded
def hessians(ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False,
             gate_gradients: bool = False, aggregation_method: Any = None) -> list[Any]:
    """Return the second derivatives of the sum of `ys` with respect to each of `xs`; shape
    ``x.shape + x.shape``.

    Parameters
    ----------
    ys : Tensor or list of them
    xs : Tensor, Variable, or list of them, of known shapes
    name : str
    colocate_gradients_with_ops, gate_gradients, aggregation_method : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant([1., 2.])
    ...     print(sess.run(tf.hessians(x[0] * x[0] * x[1], x)[0]))
    [[4. 2.]
     [2. 0.]]
    """
    found = []
    for x in xs if isinstance(xs, list | tuple) else [xs]:
        first = gradients(ys, x, name=name)[0]
        sizes = [int(n) for n in first.shape]
        flat = df.reshape(first, [-1])
        rows = [gradients(flat[k], x, name=name, unconnected_gradients="zero")[0]
                for k in range(df.ops.array.shape.product(sizes))]
        found.append(df.reshape(df.stack(rows), [*sizes, *sizes]))
    return found
