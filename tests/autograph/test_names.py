"""Python's rules for names: a program that runs eagerly gives the same results traced; a name is
rejected only if some run could read it unassigned."""

import contextlib
import re

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError
from dualflow.nest import flatten
from tests import sampling
from tests.autograph.referee import compiled, numbers, tensor

CALLS = [(0.5, [5., 1., 2.5], 0), (2.5, [0.5, -1., 2.5, 4.5, 3.], 4), (-0.25, [2.], 7),
         (4.5, [0.5, 1.5], 3)]


def cases(**texts):
    return [pytest.param(text, id=name) for name, text in texts.items()]


def with_gradients(f):
    """Return results of a function and the gradients of their numbers."""
    def run(x, xs, n):
        with df.GradientTape() as tape:
            tape.watch([x, xs])
            y = f(x, xs, n)
            found = [z for z in flatten(y) if isinstance(z, df.TensorBase) and z.dtype.is_floating]
            loss = df.add_n([x * 0.5, *[df.reduce_sum(df.sin(z)) for z in found]])
        return y, tape.gradient(loss, [x, xs], unconnected_gradients="zero")

    return run


def check(text, turn):
    """Compare eager calls with traced ones, with the tape around the function or inside it."""
    f = compiled(text, contextlib=contextlib)
    forms = sampling.one_of(
        [with_gradients(df.function(f)), df.function(with_gradients(f))], turn)
    for args in CALLS:
        given = [tensor(x) for x in args]
        want, slopes = with_gradients(f)(*given)
        for traced in forms:
            got, found = traced(*given)
            assert numbers(got) == numbers(want), args
            for a, b in zip(found, slopes, strict=True):
                # The cotangents of an output of control flow may be summed in another order.
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-13)


PROGRAMS = cases(
    with_break="""
def f(x, xs, n):
    y = 0.
    for v in xs:
        if v > 3.: break
        with df.GradientTape() as t:
            t.watch(v)
            b = v * v
        y = b * b
    return y
""",
    with_continue="""
def f(x, xs, n):
    y = 0.
    for v in xs:
        if v > 3.: continue
        with df.GradientTape() as t:
            t.watch(v)
            b = v * v
        y += t.gradient(b, v)
    return y
""",
    with_nullcontext="""
def f(x, xs, n):
    y = x
    while y < 20.:
        with contextlib.nullcontext(y) as z:
            w = z * 2.
            if w > 7.: break
        y = w + 1.
    return y
""",
    with_suppress="""
def f(x, xs, n):
    y = x
    for v in xs:
        with contextlib.suppress(ValueError):
            w = v + y
        if v > 3.: continue
        y = w
    return y
""",
    with_as_tuple="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.: continue
        with contextlib.nullcontext((v, v * 2.)) as (p, q):
            r = p + q
        y = y + r
    return y
""",
    with_two="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.: break
        with df.GradientTape() as t, contextlib.nullcontext(v) as u:
            t.watch(u); b = u * u * y
        y = y + t.gradient(b, u)
    return y
""",
    with_in_if="""
def f(x, xs, n):
    if x > 0.:
        with contextlib.nullcontext():
            a = x * 2.
    else:
        with contextlib.nullcontext():
            a = x * 3.
    return a
""",
    with_after_if="""
def f(x, xs, n):
    if x > 1.:
        with contextlib.nullcontext():
            a = x * 2.
        y = a
    else:
        y = x
    return y
""",
    with_nested_loops="""
def f(x, xs, n):
    y = x
    for v in xs:
        for u in xs:
            if u > v: break
            with contextlib.nullcontext():
                b = u * v
            y = y + b
    return y
""",
    with_shape_change="""
def f(x, xs, n):
    h = df.stack([x, x])
    y = x
    for v in xs:
        with contextlib.nullcontext():
            h = df.stack([v, v, y])
        y = y + df.reduce_sum(h)
    return y
""",
    with_type_change="""
def f(x, xs, n):
    h = None
    y = x
    for v in xs:
        if v > 3.: continue
        with contextlib.nullcontext():
            h = v * 2.
        y = y + h
    return y
""",
    with_reuse_between="""
def f(x, xs, n):
    y = x
    for v in xs:
        with contextlib.nullcontext():
            h = v * 2.
            y = y + h
    for v in xs:
        with contextlib.nullcontext():
            h = df.stack([v, y])
            y = y + df.reduce_sum(h)
    return y
""",
    with_return_only="""
def f(x, xs, n):
    with contextlib.nullcontext():
        if x > 1.: return x * 2.
        y = x + 1.
    return y
""",
    with_return_value_loop="""
def f(x, xs, n):
    with contextlib.nullcontext() as c:
        for v in xs:
            if v > x: return v
    return x
""",
    try_first="""
def f(x, xs, n):
    y = x
    for v in xs:
        try:
            b = v * 2.
        except ValueError:
            b = v * 3.
        if b > 5.: break
        y = y + b
    return y
""",
    try_else="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.: continue
        try:
            b = v * 2.
        except ValueError:
            pass
        else:
            c = b + 1.
        y = y + c
    return y
""",
    try_finally="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.: continue
        try:
            b = v * 2.
        finally:
            c = v + 1.
        y = y + b * c
    return y
""",
    try_except_as="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        try:
            raise KeyError('a')
        except KeyError as e:
            s = len(e.args)
        y = y + v * s
    return y
""",
    match_value="""
def f(x, xs, n):
    y = 0
    for i in range(n):
        match i % 3:
            case 0:
                b = i
            case 1:
                b = 2 * i
            case _:
                b = 3
        y = y + b
    return y
""",
    match_continue="""
def f(x, xs, n):
    y = 0
    for i in range(n):
        match i % 3:
            case 0:
                continue
            case 1:
                b = 2 * i
            case k:
                b = 3 + k
        y = y + b
    return y
""",
    match_sequence="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        match (v, y):
            case (p, q):
                b = p + q
        y = b
    return y
""",
    match_mapping="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        match {'a': v, 'b': y, 'c': x}:
            case {'a': p, **rest}:
                b = p + rest['b'] * rest['c']
        y = b
    return y
""",
    match_star="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        match [v, y, x]:
            case [p, *rest]:
                b = p + rest[0] * rest[1]
        y = b
    return y
""",
    match_return="""
def f(x, xs, n):
    match n:
        case 0: return x
        case 1: y = x * 2.
        case _: y = x * 3.
    return y
""",
    match_guard="""
def f(x, xs, n):
    match n:
        case k if k > 2:
            y = x * 2.
        case _:
            y = x
            k = n + 1
    return y, k
""",
    walrus_if="""
def f(x, xs, n):
    y = x
    for v in xs:
        if (w := v * 2.) > 6.: break
        y = y + w
    return y
""",
    walrus_while="""
def f(x, xs, n):
    y = x
    while (z := y * 1.5) < 20.:
        y = z + 1.
    return y, z
""",
    walrus_comp="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.: continue
        z = sum([(last := v * k) for k in (1., 2.)])
        y = y + z + last
    return y
""",
    walrus_call="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.: continue
        y = df.maximum(w := v * 2., y) + w
    return y
""",
    del_basic="""
def f(x, xs, n):
    y = x
    for v in xs:
        t = v * 2.
        if t > 5.: break
        y = y + t
        del t
    return y
""",
    del_branch="""
def f(x, xs, n):
    t = x * 2.
    if x > 1.:
        y = t
        del t
    else:
        y = x
        del t
    return y
""",
    del_one="""
def f(x, xs, n):
    t = x * 2.
    if x > 1.:
        y = t
        del t
    else:
        y = x
    t = y
    return y + t
""",
    comp_reads="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        ws = [v * k for k in (1., 2., 3.)]
        y = y + sum(ws)
    return y
""",
    comp_same_name="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        ws = [v * 2. for v in (v, y)]
        y = y + sum(ws) + v
    return y
""",
    nonlocal_in="""
def f(x, xs, n):
    t = x
    def g(v):
        nonlocal t
        if v > 1.:
            t = t + v
        else:
            w = v
            t = t + w * 2.
    for v in xs:
        g(v)
    return t
""",
    nonlocal_first="""
def f(x, xs, n):
    def g(v):
        nonlocal t
        t = v * 2.
    y = x
    for v in xs:
        if v > 3.: break
        g(v)
        y = y + t
    t = y
    return t
""",
    nonlocal_loop="""
def f(x, xs, n):
    t = x
    def g():
        nonlocal t
        for v in xs:
            if v > 3.: break
            t = t + v
        return t
    return g() + t
""",
    global_first="""
def f(x, xs, n):
    global G1
    G1 = x
    for v in xs:
        if v > 3.: break
        G1 = G1 + v
    y = G1
    G1 = 0
    return y
""",
    star_assign="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        a, *b = v, y, x
        y = a + b[0] * b[1]
    return y
""",
    star_rows="""
def f(x, xs, n):
    y = x
    for i, *r in enumerate(xs):
        if r[0] > 3.: break
        y = y + r[0] * df.cast(i, y.dtype)
    return y
""",
    star_zip="""
def f(x, xs, n):
    y = x
    for a, *r in zip(xs, xs, xs):
        if a < 0.: continue
        y = y + a * r[0] - r[1]
    return y
""",
    star_nested="""
def f(x, xs, n):
    y = x
    for i, (a, *r) in enumerate(zip(xs, xs)):
        if a < 0.: continue
        y = y + a * r[0]
    return y
""",
    loop_else_break="""
def f(x, xs, n):
    for v in xs:
        if v > 3.:
            y = v
            break
    else:
        y = x
    return y
""",
    loop_else_assign="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
    else:
        z = y * 2.
        y = z
    return y
""",
    while_else_break="""
def f(x, xs, n):
    i = 0
    while i < n:
        if i * i > 10:
            found = i
            break
        i = i + 1
    else:
        found = -1
    return found
""",
    loop_else_return="""
def f(x, xs, n):
    for v in xs:
        if v > 3.:
            y = v * 2.
            break
    else:
        return x
    return y
""",
    nested_reads_loopvar="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        def g(a): return a * v
        y = g(y)
    return y
""",
    lambda_reads_loopvar="""
def f(x, xs, n):
    y = x
    for v in xs:
        w = v * 2.
        g = lambda a: a + w
        if v > 3.: continue
        y = g(y)
    return y
""",
    lambda_default="""
def f(x, xs, n):
    y = x
    for v in xs:
        g = lambda a, w=v: a + w
        if v > 3.: continue
        y = g(y)
    return y
""",
    nested_cond="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        w = v + 1.
        y = df.cond(w > 1., lambda: y + w, lambda: y - w)
    return y
""",
    nested_tape_lambda="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        w = v * y
        y = df.grad(lambda t: t * t * w)(v)
    return y
""",
    nested_after_loop="""
def f(x, xs, n):
    for v in xs:
        w = v * 2.
    g = lambda a: a * w + v
    return g(x)
""",
    nested_if_in="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 0.:
            w = v * 2.
        else:
            w = v
        def g(a):
            if a > w:
                return a - w
            return a
        y = g(y) + v
    return y
""",
    nested_before="""
def f(x, xs, n):
    def g(a): return a * w
    y = x
    for v in xs:
        if v > 3.: continue
        w = v * 2.
        y = g(y)
    return y
""",
    aug_with="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        with contextlib.nullcontext():
            b = v
            b += y
            b *= 2.
        y += b
    return y
""",
    aug_item="""
def f(x, xs, n):
    d = {'k': x}
    for v in xs:
        if v > 3.: break
        with contextlib.nullcontext():
            b = v * 2.
            d['k'] += b
    return d['k']
""",
    loopvar_after="""
def f(x, xs, n):
    for v in xs:
        pass
    return v * 2.
""",
    loopvar_after_break="""
def f(x, xs, n):
    for v in xs:
        if v > 3.: break
    return v * 2.
""",
    loopvar_enum_after="""
def f(x, xs, n):
    for i, v in enumerate(xs):
        if v > 3.: break
    return v * 2., i
""",
    loopvar_continue_after="""
def f(x, xs, n):
    y = x
    for v in xs:
        w = v * 2.
        if v > 3.: continue
        y = y + w
    return y, w, v
""",
    same_condition="""
def f(x, xs, n):
    if x > 1.:
        y = x * 2.
    z = x + 1.
    if x > 1.:
        z = z + y
    return z
""",
    same_condition_var="""
def f(x, xs, n):
    big = x > 1.
    if big:
        y = x * 2.
    z = x + 1.
    if big:
        z = z + y
    return z
""",
    same_condition_not="""
def f(x, xs, n):
    big = x > 1.
    if big:
        y = x * 2.
    if not big:
        y = x * 3.
    return y
""",
    same_condition_loop="""
def f(x, xs, n):
    z = x
    for v in xs:
        big = v > 1.
        if big:
            y = v * 2.
        z = z + 1.
        if big:
            z = z + y
    return z
""",
    same_condition_and="""
def f(x, xs, n):
    big = x > 1.
    if big:
        y = x * 2.
    z = x
    if big and n > 2:
        z = z + y
    return z
""",
    same_condition_ifexp="""
def f(x, xs, n):
    big = x > 1.
    if big:
        y = x * 2.
    return y if big else x
""",
    same_condition_else="""
def f(x, xs, n):
    big = x > 1.
    if big:
        y = x * 2.
    else:
        w = x * 3.
    if big:
        r = y
    else:
        r = w
    return r
""",
    same_condition_shapes="""
def f(x, xs, n):
    big = x > 1.
    if big:
        y = df.stack([x, x])
        w = 3
    if big:
        r = df.reduce_sum(y) * w
    else:
        r = x
    return r
""",
    flag_found="""
def f(x, xs, n):
    found = False
    for v in xs:
        if v > 2.:
            found = True
            y = v
    if found:
        return y
    return x
""",
    flag_found_break="""
def f(x, xs, n):
    found = False
    for v in xs:
        if v > 2.:
            found = True
            y = v
            break
    if found:
        return y
    return x
""",
    flag_first="""
def f(x, xs, n):
    first = True
    y = x
    for v in xs:
        if first:
            first = False
        else:
            y = y + prev * v
        prev = v
    return y
""",
    none_prev="""
def f(x, xs, n):
    prev = None
    y = x
    for v in xs:
        if prev is not None:
            y = y + prev * v
        prev = v
    return y
""",
    temp_round="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 0.:
            t = v * 2.
            y = y + t
        else:
            t = df.stack([v, v])
            y = y + df.reduce_sum(t)
    return y
""",
    temp_round_while="""
def f(x, xs, n):
    while x < 30.:
        if x > 3.:
            t = x * 2.
            if t > 20.: break
            x = x + t
        x = x + 1.
    return x
""",
    temp_before_other="""
def f(x, xs, n):
    t = df.stack([x, x])
    y = df.reduce_sum(t)
    for v in xs:
        t = v * y
        if t > 5.: continue
        y = y + t
    return y
""",
    if_ends_raise="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.:
            s = v
            if s > 4.: continue
        else:
            s = v * 2.
        y = y + s
    return y
""",
    if_deep="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 1.:
            if v > 3.: continue
            s = v
        else:
            s = v * 2.
        y = y + s
    return y
""",
    if_deep_break="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 1.:
            if v > 3.: break
            s = v
        elif v < 0.:
            continue
        else:
            s = v * 2.
        y = y + s
    return y
""",
    if_deep_return="""
def f(x, xs, n):
    if x > 1.:
        if x > 3.: return x
        s = x * 2.
    else:
        s = x * 3.
    return s + 1.
""",
    if_assign_unused="""
def f(x, xs, n):
    if x > 1.:
        s = x * 2.
    if x < 0.:
        s = df.stack([x, x])
    s = x
    return s
""",
    inner_loop_var="""
def f(x, xs, n):
    y = x
    for v in xs:
        for i in range(n):
            if v > 3.: break
            y = y + v
    return y
""",
    inner_loop_temp="""
def f(x, xs, n):
    y = x
    for v in xs:
        for u in xs:
            w = u * v
            if w > 4.: break
        y = y + w
    return y
""",
    while_true_temp="""
def f(x, xs, n):
    while True:
        t = x * 2.
        if t > 20.: break
        x = t + 1.
    return x + t
""",
    list_comp_cond="""
def f(x, xs, n):
    out = []
    for v in xs:
        if v > 3.:
            w = v
        else:
            w = -v
        out.append([w * k for k in (1., 2.)])
    return df.reduce_sum(df.stack([df.stack(o) for o in out]))
""",
    with_try_in_if="""
def f(x, xs, n):
    if x > 1.:
        try:
            with contextlib.suppress(KeyError):
                a = x * 2.
        finally:
            b = x
        y = a + b
    else:
        y = x
    return y
""",
    try_in_if_both="""
def f(x, xs, n):
    if x > 1.:
        try:
            a = x * 2.
        except ValueError:
            a = x
    else:
        a = x * 5.
    return a
""",
    import_in_loop="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        import math
        y = y + v * math.pi
    return y
""",
    class_in_loop="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        class A:
            k = 2.
        y = y + v * A.k
    return y
""",
    unpack_list="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        [a, (b, c)] = [v, (v * 2., y)]
        y = a * b + c
    return y
""",
    annotated="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: break
        w: float
        w = v * 2.
        z: float = w + 1.
        y = y + z
    return y
""",
    return_in_with_loop="""
def f(x, xs, n):
    y = x
    for v in xs:
        with contextlib.nullcontext():
            w = v * 2.
            if w > 8.:
                return w
            elif w < 0.:
                continue
            z = w + 1.
        y = y + z
    return y
""",
    two_flags="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.:
            a = v
        if v < 0.:
            a = -v
        if v > 3. or v < 0.:
            y = y + a
    return y
""",
    or_cond="""
def f(x, xs, n):
    a_ok = x > 1.
    b_ok = n > 2
    if a_ok or b_ok:
        y = x * 2.
    z = x
    if a_ok:
        z = z + y
    if b_ok:
        z = z - y
    return z
""",
    dict_local="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        with contextlib.nullcontext():
            d = {'a': v, 'b': [y, v]}
        y = d['a'] + d['b'][0]
    return y
""",
    del_in_loop_with="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.: continue
        with df.GradientTape() as t:
            t.watch(v)
            b = v * v
        y = y + t.gradient(b, v)
        del t
    return y
""",
    suppress_raises="""
def f(x, xs, n):
    y = x
    with contextlib.suppress(ValueError):
        z = x * 2.
        z = df.ones([2, 2]) @ df.ones([3])
        y = x * 3.
    if x > 1.:
        y = y + z
    return y
""",
    suppress_raises_loop="""
def f(x, xs, n):
    y = x
    for v in xs:
        b = v
        with contextlib.suppress(ValueError):
            df.ones([2, 2]) @ df.ones([3])
            b = v * 100.
        if v > 3.: continue
        y = y + b
    return y
""",
    suppress_raises_before_if="""
def f(x, xs, n):
    b = x
    if x > 1.:
        b = x * 2.
    with contextlib.suppress(ValueError):
        df.ones([2, 2]) @ df.ones([3])
        b = x * 100.
    return b
""",
)
JUMPS_IN_TRY = cases(
    try_return="""
def f(x, xs, n):
    try:
        if x > 1.:
            return x * 2.
    finally:
        y = x + 1.
    return y
""",
    try_return_loop="""
def f(x, xs, n):
    for v in xs:
        try:
            if v > 1.:
                return v * 2.
        except ValueError:
            return x
    return x
""",
    try_break="""
def f(x, xs, n):
    y = x
    for v in xs:
        try:
            if v > 2.:
                break
            y = y + v
        finally:
            y = y + 1.
    return y
""",
    try_continue="""
def f(x, xs, n):
    y = x
    for v in xs:
        try:
            w = v * 2.
            if v > 2.:
                continue
            y = y + w
        except ValueError:
            y = y + 100.
        else:
            y = y * 2.
    return y
""",
    try_except_return="""
def f(x, xs, n):
    y = x
    for v in xs:
        try:
            z = df.stack([v, y]) @ df.ones([3])
        except ValueError:
            z = v * y
        if z > 5.: return z
        y = y + z
    return y
""",
    try_handler_return="""
def f(x, xs, n):
    try:
        z = df.ones([2, 2]) @ df.ones([3])
    except ValueError:
        if x > 1.: return x
        z = x * 3.
    return z + 1.
""",
    try_nested="""
def f(x, xs, n):
    try:
        try:
            if x > 1.: return x
            y = x * 2.
        finally:
            z = x + 3.
    except KeyError:
        return x
    return y + z
""",
    try_in_while="""
def f(x, xs, n):
    while x < 50.:
        try:
            y = x * 2.
            if y > 30.: break
        except ValueError:
            pass
        x = y + 1.
    return x
""",
    return_in_try_finally_loop="""
def f(x, xs, n):
    log = x
    for v in xs:
        try:
            if v > 3.: return log + v
            log = log + 1.
        finally:
            log = log * 2.
    return log
""",
    return_in_else="""
def f(x, xs, n):
    try:
        y = x * 2.
    except ValueError:
        return x
    else:
        if y > 3.: return y
        z = y + 1.
    return z
""",
    try_return_then_raise="""
def f(x, xs, n):
    try:
        if x > 1.:
            return x * 2.
        y = x + 1.
    except KeyError:
        return x
    finally:
        z = x * 3.
    return y + z
""",
    try_loop_else="""
def f(x, xs, n):
    y = x
    for v in xs:
        try:
            if v > 3.: break
            w = v
        except KeyError:
            continue
        else:
            y = y + w
        finally:
            y = y * 1.5
    else:
        y = y - 1.
    return y
""",
    try_return_value_before_finally="""
def f(x, xs, n):
    y = x
    try:
        if x > 1.: return y
        y = y + 1.
    finally:
        y = y * 100.
    return y
""",
    try_raised_return="""
def f(x, xs, n):
    for v in xs:
        try:
            if v > 1.:
                try:
                    raise KeyError('k')
                except KeyError:
                    return v * 3.
        finally:
            x = x + v
    return x
""",
    try_with="""
def f(x, xs, n):
    y = x
    for v in xs:
        with contextlib.suppress(KeyError):
            try:
                if v > 3.: return y
                y = y + v
                if v < 0.: continue
                y = y * 2.
            finally:
                y = y + 0.5
    return y
""",
)

WALRUS = cases(
    walrus_and="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 0. and (w := v * 2.) > 3.:
            y = y + w
    return y
""",
    walrus_ifexp="""
def f(x, xs, n):
    y = (z := x * 2.) if x > 1. else (z := x * 3.)
    return y + z
""",
    walrus_or="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0. or (w := v * y) > 3.:
            y = y + v
        else:
            y = y - w
    return y
""",
    walrus_elif="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v < 0.:
            continue
        elif v > 1. and not ((w := v * y) > 9. or (u := w + v) < 2.):
            y = u - w
        y = y + 1.
    return y
""",
    walrus_while_and="""
def f(x, xs, n):
    y = x
    while y < 20. and (w := y * 1.5) < 15.:
        y = w + 1.
        if n > 3: continue
        y = y + 1.
    return y
""",
    walrus_return="""
def f(x, xs, n):
    return x > 1. and (w := x * 2.) > 3.
""",
    walrus_assign="""
def f(x, xs, n):
    big = x > 1. and (w := x * 2.) > 3.
    return w if big else x
""",
    walrus_three="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 0. and (w := v * y) > 1. and (u := w + v) > 2.:
            y = u * 0.5 + w
    return y
""",
)

ACROSS_ITERATIONS = cases(
    started_set="""
def f(x, xs, n):
    started = False
    y = x
    for v in xs:
        if v > 1.:
            if started:
                y = y + 1.
            started, prev = True, v
        y = y + v
    return y + prev if started else y
""",
    not_missing="""
def f(x, xs, n):
    missing = True
    for v in xs:
        if v > 1.:
            missing = False
            w = v
    return x if missing else w
""",
    found_nested="""
def f(x, xs, n):
    found = False
    for v in xs:
        for u in xs:
            if u * v > 3.:
                found = True
                y = u + v
                break
    if not found:
        return x
    return y
""",
    found_while="""
def f(x, xs, n):
    k, found = 0, False
    while k < n and not found:
        if k * x > 3.:
            found = True
            y = k * x
        k = k + 1
    return y if found else x
""",
    twice_assigned="""
def f(x, xs, n):
    if x > 1.:
        y = x
    for v in xs:
        if x > 1.:
            y = y + v
    if x > 1.:
        return y
    return x
""",
    del_reassigned="""
def f(x, xs, n):
    t = x
    for v in xs:
        u = t + v
        del t
        t = u * 0.5
    return t
""",
    while_after="""
def f(x, xs, n):
    while x < 3.:
        w = x * 2.
        x = x + 1.
    if x > 100.:
        y = x
    else:
        y = x
    return y
""",
    ran_condition="""
def f(x, xs, n):
    big = n > 0
    z = x
    if big:
        for i in range(3):
            w = x * 2. + i
            if w > 5.: break
        z = w
    return z
""",
    none_two="""
def f(x, xs, n):
    best = None
    for v in xs:
        if best is None:
            best = v
        elif v > best:
            best = v
    return best
""",
    none_enumerated="""
def f(x, xs, n):
    total = None
    for i, v in enumerate(xs, 2):
        total = v * i if total is None else total * x - v * i
    return total
""",
    types_by_branch="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 1.:
            t = (v, y)
            y = t[0] + t[1]
            if y > 9.: continue
        else:
            t = v
            y = y - t
        y = y * 0.5
    return y
""",
)


MATCHING = PROGRAMS + JUMPS_IN_TRY + WALRUS + ACROSS_ITERATIONS
TURNS = {param.values[0]: turn for turn, param in enumerate(MATCHING)}


@pytest.mark.parametrize("text", MATCHING)
def test_programs_match_eager(text):
    check(text, TURNS[text])


UNASSIGNED = cases(
    found_reset="""
def f(x, xs, n):
    found = False
    for v in xs:
        if v > 2.4:
            found = True
            y = v
        if v > 0.:
            found = not found
    if found:
        return y
    return x
""",
    found_before="""
def f(x, xs, n):
    found = x > 1.
    for v in xs:
        if v > 2.4:
            found = True
            y = v
    if found:
        return y
    return x
""",
    found_del="""
def f(x, xs, n):
    found = False
    for v in xs:
        if found:
            del y
        if v > 2.4:
            found = True
            y = v
    if found:
        return y
    return x
""",
    break_other="""
def f(x, xs, n):
    for v in xs:
        if v > 4.: break
        if v > 2.:
            y = v
            break
    else:
        y = x
    return y
""",
    continue_first="""
def f(x, xs, n):
    for v in xs:
        if v > 1.: continue
        w = v
    return w
""",
    outer_flag="""
def f(x, xs, n):
    found = False
    for v in xs:
        found = False
        if v > 2.4:
            y = v
            found = True
    if not found:
        return y
    return x
""",
    walrus="""
def f(x, xs, n):
    if x > 3. and (w := x * 2.) > 3.:
        return x
    return w
""",
    one_branch="""
def f(x, xs, n):
    if x > 1.:
        y = x
    return y
""",
    loop_zero="""
def f(x, xs, n):
    for i in range(n):
        y = i
    return y
""",
    one_branch_with="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 3.:
            with contextlib.nullcontext():
                b = v
        y = y + b
    return y
""",
    other_condition="""
def f(x, xs, n):
    if x > 1.:
        y = x
    z = x
    if x > 0.:
        z = y
    return z
""",
    while_zero="""
def f(x, xs, n):
    while x < 2.:
        y = x
        x = x + 1.
    return y
""",
    condition_changed="""
def f(x, xs, n):
    if x > 1.:
        y = x
    x = x - 1.
    if x > 1.:
        return y
    return x
""",
    condition_changed2="""
def f(x, xs, n):
    if x > 1.:
        y = x
    x = x + 1.
    if x > 1.:
        return y
    return x
""",
    caught_nameerror="""
def f(x, xs, n):
    if x > 1.:
        y = x
    try:
        z = y
    except NameError:
        z = x * 7.
    return z
""",
    caught_any="""
def f(x, xs, n):
    if x > 1.:
        y = x
    try:
        z = y
    except Exception:
        z = x * 7.
    return z
""",
    deleted="""
def f(x, xs, n):
    y = x
    if x > 1.:
        del y
    return y
""",
    deleted_loop="""
def f(x, xs, n):
    y = x
    for v in xs:
        if v > 1.:
            z = y
            del y
        else:
            z = y
    return z
""",
    closure="""
def f(x, xs, n):
    g = lambda: y * 2.
    if x > 1.:
        y = x
    return g()
""",
    aug="""
def f(x, xs, n):
    if x > 1.:
        y = x
    y += 1.
    return y
""",
    comp="""
def f(x, xs, n):
    if x > 1.:
        y = x
    return sum([y * k for k in (1., 2.)])
""",
    break_before="""
def f(x, xs, n):
    for v in xs:
        if v > 3.: break
        y = v
    return y
""",
    del_doubt="""
def f(x, xs, n):
    if x > 1.:
        y = x
    del y
    return x
""",
    sticky_reset="""
def f(x, xs, n):
    found = False
    for v in xs:
        if v > 2.:
            found = True
        if v > 3.:
            y = v
    if found:
        return y
    return x
""",
    cross="""
def f(x, xs, n):
    first = True
    y = x
    for v in xs:
        if first:
            first = v > 2.
        else:
            y = y + prev * v
            continue
        if v > 3.:
            prev = v
    return y
""",
)


@pytest.mark.parametrize("text", UNASSIGNED)
def test_possibly_unassigned_names_raise(text):
    f = compiled(text, contextlib=contextlib)
    with pytest.raises(InvalidArgumentError, match=r"(assigned|no value).*read at <test "):
        df.function(f)(*[tensor(x) for x in CALLS[1]])


def test_message_shows_the_path():
    f = compiled("""
        def f(x):
            if x > 1.:
                with contextlib.nullcontext():
                    y = x * 2.
            else:
                z = x
            w = x + 1.
            return w + y
        """, contextlib=contextlib)
    with pytest.raises(InvalidArgumentError) as info:
        df.function(f)(tensor(2.))
    assert re.search(r"y is assigned in one branch only of the `if` at .*:3, which .* is read at "
                     r".*:9: in the first one it is float64 \(\), made at .*:5, in f, in the "
                     "second one it has no value", str(info.value))
