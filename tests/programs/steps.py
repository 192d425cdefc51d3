"""The steps of random programs: ops on tensors, by name."""

import dualflow as df

squared = df.register_op("squared", lambda a: a.numpy() ** 2, gradient=lambda g, y, a: 2. * a * g)
column = df.register_op("column", lambda a: a.numpy()[..., None],
                        infer=lambda a: ((*a.shape, 1), a.dtype),
                        gradient=lambda g, y, a: df.reshape(g, a.shape))


def doubled(a):
    return df.py_function(lambda x: df.tanh(x) + x, [a], a)


def parts(a, k):
    """Combine parts of a tensor, so that its gradient is a sum of gradients of slices: of rows,
    columns, every other column, overlapping rows; by turns also of the whole tensor."""
    n, m = a.shape[0], a.shape[-1]
    y = [lambda: [a[i] * (i + 1.) for i in range(n)],
         lambda: [df.sin(a[..., i]) for i in range(m)],
         lambda: [a[..., :m // 2 * 2:2], a[..., 1::2] * 3., a[..., m // 2 * 2 - 1::-2]],
         lambda: [a[i:i + n // 2] * (i + 1.) for i in range(n - n // 2 + 1)]][k % 4]()
    whole = [df.reduce_sum(a, 0)] if k % 4 == 0 and k > 5 else []
    return df.add_n([*y[:1], *whole, *y[1:]])


def looped(a, k):
    """Read rows of a tensor in a loop: in slices, beside another row, or both, so that its gradient
    is a sum over the loop; by turns in another order, repeatedly, or not all."""
    axis, n = k % 2 * (a.ndim - 1), a.shape[k % 2 * (a.ndim - 1)]
    order = [range(n), range(n)[::-1], [0, *range(n)], range(1, n), [n - 1, 0, n - 1]][k // 2 % 5]
    at, total = df.constant([*order], df.int32), df.zeros_like(df.gather(a, 0, axis=axis))
    for t in df.range(len(order)):
        row = df.gather(a, at[t], axis=axis)
        other = df.gather(a, n - 1 - at[t] if k % 4 else at[t] - 1, axis=axis)
        if k % 3 == 0 and row.ndim:
            m = row.shape[-1] // 2
            row = df.concat([df.sin(row[..., m:]), row[..., :m] * other[..., :m]], -1)
        elif k % 3 == 1:
            row = row * 2. - df.tanh(other)
        total = df.tanh(total * .5 + row)
    return total


def searched(a, k):
    """Read rows in a loop whose length depends on data and may be 0: in slices, or beside another
    row; by turns the loop ends by its condition, by `break` after or before a row is read, skips
    rows, or has an inner loop."""
    axis, n = k % 2 * (a.ndim - 1), a.shape[k % 2 * (a.ndim - 1)]
    count = df.reduce_sum(df.cast(a > .3, df.int32)) % (n + 1)
    total = df.zeros_like(df.gather(a, 0, axis=axis))

    def step(total, t):
        row = df.gather(a, t, axis=axis)
        if k % 3 == 0 and row.ndim:
            m = row.shape[-1] // 2
            row = df.concat([df.sin(row[..., m:]), row[..., :m] * row[..., -m:][..., :m]], -1)
        elif k % 3 == 1:
            row = row * 2. - df.tanh(df.gather(a, n - 1 - t, axis=axis))
        return df.tanh(total * .5 + row)

    if k // 3 % 6 == 0:
        for t in range(count):
            total = step(total, t)
    elif k // 3 % 6 == 1:
        t = df.constant(0)
        while t < count:
            total = step(total, t)
            t = t + 1
    elif k // 3 % 6 == 2:
        for t in df.range(n):
            total = step(total, t)
            if t + 1 >= count:
                break
    elif k // 3 % 6 == 3:
        for t in df.range(n):
            if t >= count:
                break
            total = step(total, t)
    elif k // 3 % 6 == 4:
        for t in range(count):
            if df.equal(t % 2, 1):
                total = step(total, t)
    else:
        for t in range(count):
            for i in range(t):
                total = step(total, i)
    return total


# name: (number of operands, function of the operands and an integer k). A step that rejects its
# operands is skipped in every mode, because only shapes decide.
STEPS = {
    # elementwise and broadcasts
    "negative": (1, lambda a, k: -a),
    "square": (1, lambda a, k: df.square(a)),
    "smooth": (1, lambda a, k: [df.tanh, df.sigmoid, df.sin, df.nn.softplus][k % 4](a)),
    "exp": (1, lambda a, k: df.exp(df.minimum(a, 3.))),
    "root": (1, lambda a, k: df.sqrt(df.abs(a) + .5)),
    "relu": (1, lambda a, k: df.nn.relu(a)),
    "floor": (1, lambda a, k: df.floor(a)),
    "number": (1, lambda a, k: [a * 1.5, 2. - a, a / 3., a ** 2., a + 0., 1. * a][k % 6]),
    "add": (2, lambda a, b, k: a + b),
    "subtract": (2, lambda a, b, k: a - b),
    "multiply": (2, lambda a, b, k: a * b),
    "divide": (2, lambda a, b, k: a / (df.abs(b) + 1.)),
    "maximum": (2, lambda a, b, k: df.maximum(a, b)),
    "where": (2, lambda a, b, k: df.where(a > b, a, b * 2.)),
    "compare": (2, lambda a, b, k: df.cast([a < b, a >= b, df.equal(a, b)][k % 3], a.dtype)),
    "integers": (1, lambda a, k: df.cast(df.cast(a, df.int32) // 2 + k % 5, a.dtype)),
    "wide": (1, lambda a, k: df.cast(df.cast(a, df.float64) * (1. / 3.), a.dtype)),
    "half": (1, lambda a, k: df.cast(df.cast(a, df.bfloat16), a.dtype)),
    "power": (1, lambda a, k: (df.abs(a) + .5) ** [-2., -1., -.5, .5, 1., 3., 4., 2.5][k % 8]),
    "terms": (2, lambda a, b, k: df.add_n([a, df.broadcast_to(b, a.shape), df.sin(a), a * b, -a,
                                           *[a * .5] * (k % 3)])),
    # reductions
    "sum": (1, lambda a, k: df.reduce_sum(a, axis=k % a.ndim, keepdims=k % 3 == 0)),
    "mean": (1, lambda a, k: df.reduce_mean(a)),
    "leading": (1, lambda a, k: [
        df.reduce_sum, df.reduce_mean, df.reduce_max, df.reduce_min][k % 4](
            df.tanh(a) * 2., axis=list(range(1 + k // 4 % a.ndim)))),
    "flat": (1, lambda a, k: by_hand(df.reshape(a, [[-1], [1, -1], [2, -1]][k % 3]))),
    "max": (1, lambda a, k: df.reduce_max(a, axis=-1, keepdims=True)),
    "softmax": (1, lambda a, k: df.nn.softmax(a)),
    "normalize": (1, lambda a, k: (a - df.reduce_mean(a, -1, keepdims=True))
                  / df.sqrt(df.reduce_mean(df.square(a), -1, keepdims=True) + 1.)),
    "cumsum": (1, lambda a, k: df.cumsum(a, axis=k % a.ndim)),
    "argmax": (1, lambda a, k: df.cast(df.argmax(a, axis=-1), a.dtype)),
    # shapes
    "transpose": (1, lambda a, k: df.transpose(a)),
    "reshape": (1, lambda a, k: df.reshape(a, [[-1], [-1, 1], [1, -1], a.shape[::-1]][k % 4])),
    "row": (1, lambda a, k: a[k % a.shape[0]]),
    "rows": (1, lambda a, k: a[k % a.shape[0]:]),
    "columns": (1, lambda a, k: a[..., ::-1]),
    "expand": (1, lambda a, k: df.expand_dims(a, k % (a.ndim + 1))),
    "squeeze": (1, lambda a, k: df.squeeze(a)),
    "broadcast": (1, lambda a, k: df.broadcast_to(a, [2, *a.shape])),
    "concat": (2, lambda a, b, k: df.concat([a, b, a], axis=k % a.ndim)),
    "joined": (2, lambda a, b, k: joined(a, b, k)),
    "parts": (1, lambda a, k: parts(a, k)),
    "looped": (1, lambda a, k: looped(a, k)),
    "searched": (1, lambda a, k: searched(a, k)),
    "stack": (2, lambda a, b, k: df.stack([a, b], axis=k % 2)),
    "split": (1, lambda a, k: df.split(a, a.shape[-1], axis=-1)[k % a.shape[-1]]),
    "gather": (1, lambda a, k: df.gather(a, [k % a.shape[0], 0, k % a.shape[0]])),
    # products
    "matmul": (2, lambda a, b, k: df.matmul(a, b, transpose_a=k % 2 == 1, transpose_b=k % 3 == 1)),
    "autocast": (2, lambda a, b, k: autocast_product(a, b, k)),
    "gram": (1, lambda a, k: df.matmul(a, a, transpose_b=True)),
    "layer": (2, lambda a, b, k: df.nn.relu(df.matmul(a, b) + 1.)),
    "two layers": (1, lambda a, k: df.matmul(
        df.tanh(df.matmul(a, a, transpose_b=True) + df.reduce_sum(a, -1)), a)),
    "integer product": (2, lambda a, b, k: df.cast(df.matmul(
        *[df.cast(df.clip_by_value(x, 0., 2.) * 100., dtype) for x, dtype in zip(
            (a, b), [(df.int8, df.uint8), (df.uint8, df.int8), (df.int8, df.int8)][k % 3],
            strict=True)],
        transpose_b=k % 2 == 1, output_type=df.int32), a.dtype) * 1e-4),
    "stop": (1, lambda a, k: df.stop_gradient(a)),
    "in Python": (1, lambda a, k: [squared, column, doubled][k % 3](a)),
    # functions within their finite range
    "trigonometry": (1, lambda a, k: [
        df.cos, df.atan, df.asinh, lambda x: df.tan(df.tanh(x)), lambda x: df.asin(df.tanh(x) * .9),
        lambda x: df.acos(df.tanh(x) * .9), lambda x: df.atanh(df.tanh(x) * .9),
        lambda x: df.acosh(df.square(x) + 1.5), lambda x: df.cosh(df.tanh(x)),
        lambda x: df.sinh(df.tanh(x))][k % 10](a)),
    "error functions": (1, lambda a, k: [
        df.math.erf, df.math.erfc, lambda x: df.math.erfinv(df.tanh(x) * .9),
        lambda x: df.math.erfcinv(df.tanh(x) * .9 + 1.), lambda x: df.math.ndtri(df.sigmoid(x))][
            k % 5](a)),
    "logarithms": (1, lambda a, k: [
        df.math.log, df.math.log1p, df.math.rsqrt, df.math.reciprocal, df.math.lgamma,
        df.math.digamma, lambda x: df.math.polygamma(1., x), lambda x: df.math.expm1(-x)][k % 8](
            df.abs(a) + .5)),
    "activations": (1, lambda a, k: [
        df.nn.elu, df.nn.selu, df.nn.gelu, df.nn.silu, df.nn.softsign, df.nn.leaky_relu,
        df.nn.relu6, df.math.log_sigmoid, df.nn.log_softmax][k % 9](a)),
    "rounded": (1, lambda a, k: [df.round, df.math.ceil, df.sign,
                                 lambda x: df.clip_by_value(x, -.5, .7)][k % 4](a * 1.7)),
    "incomplete": (2, lambda a, b, k: [
        lambda x, y: df.math.igamma(x, y), lambda x, y: df.math.igammac(x, y),
        lambda x, y: df.math.betainc(df.stop_gradient(x), 1.5, df.sigmoid(y)),
        lambda x, y: df.math.zeta(df.stop_gradient(x) + 1., df.stop_gradient(y))][k % 4](
            df.abs(a) + .5, df.abs(b) + .5)),
    "of two": (2, lambda a, b, k: [
        df.math.atan2, df.math.squared_difference, df.math.divide_no_nan, df.math.multiply_no_nan,
        df.math.xlogy, df.math.xlog1py, df.math.xdivy, df.pow, df.math.floormod, df.math.floordiv,
        df.minimum][k % 11](df.abs(a) + .5, df.abs(b) + .5)),
    "bits": (2, lambda a, b, k: df.cast([
        df.bitwise.bitwise_and, df.bitwise.bitwise_or, df.bitwise.bitwise_xor,
        lambda x, y: df.bitwise.left_shift(x, y % 4), lambda x, y: df.bitwise.right_shift(x, y % 4),
        lambda x, y: ~x + y][k % 6](
            *[df.cast(df.clip_by_value(x, -9., 9.), df.int32) for x in (a, b)]), a.dtype)),
    "logic": (2, lambda a, b, k: df.cast([
        df.logical_and, df.logical_or, df.math.logical_xor,
        lambda x, y: df.logical_not(x), lambda x, y: df.reduce_any(x, -1),
        lambda x, y: df.reduce_all(x | y)][k % 6](a > 0., b > .5), a.dtype)),
    # along an axis
    "reduced": (1, lambda a, k: [
        df.reduce_logsumexp, df.math.reduce_std, df.math.reduce_variance,
        df.math.reduce_euclidean_norm, df.reduce_prod][k % 5](
            df.tanh(a) + .1, axis=k % a.ndim, keepdims=k % 2 == 0)),
    "accumulated": (1, lambda a, k: [
        lambda x, d: df.math.cumprod(x, d), lambda x, d: df.math.cumulative_logsumexp(x, d),
        lambda x, d: df.roll(x, k, d), lambda x, d: df.reverse(x, [d]),
        lambda x, d: df.repeat(x, 2, d)][k % 5](df.tanh(a), k // 2 % a.ndim)),
    "sorted": (1, lambda a, k: [
        df.sort, lambda x: df.sort(x, 0, "DESCENDING"), lambda x: df.cast(df.argsort(x), x.dtype),
        lambda x: df.math.top_k(x, 1)[0], lambda x: df.cast(df.argmin(x, 0), x.dtype),
        lambda x: df.cast(df.searchsorted(df.sort(x), x * .5), x.dtype)][k % 6](a)),
    "segments": (1, lambda a, k: df.maximum(-9., [
        df.math.unsorted_segment_sum, df.math.unsorted_segment_mean, df.math.unsorted_segment_max,
        df.math.unsorted_segment_prod][k % 4](
            df.tanh(a), df.math.floormod(df.range(a.shape[0]) * (k + 1), 3), 3))),
    # elements by index
    "scattered": (2, lambda a, b, k: [
        df.tensor_scatter_nd_update, df.tensor_scatter_nd_add, df.tensor_scatter_nd_sub,
        df.tensor_scatter_nd_max, df.tensor_scatter_nd_min, df.tensor_scatter_nd_mul,
        lambda x, at, y: df.scatter_nd(at, y, x.shape)][k % 7](
            a, [[k % a.shape[0]], [0]], df.stack([b[0], b[-1]]) * .5)),
    "picked": (1, lambda a, k: df.gather_nd(
        a, [[k % n for n in a.shape[:1 + k % a.ndim]], [0] * (1 + k % a.ndim)])),
    "padded": (1, lambda a, k: df.pad(a, [[k % 2, 1]] * a.ndim,
                                      ["CONSTANT", "REFLECT", "SYMMETRIC"][k % 3])),
    "band": (1, lambda a, k: [
        lambda x: df.linalg.band_part(x, k % 3 - 1, k % 2), lambda x: df.linalg.diag_part(x),
        lambda x: df.linalg.diag(x)][k % 3](a)),
    "factors": (1, lambda a, k: factors(a, k)),
    "hot": (1, lambda a, k: df.one_hot(df.cast(df.abs(a) * 2., df.int32), 3, dtype=a.dtype)),
    "losses": (2, lambda a, b, k: [
        lambda x, y: df.nn.sigmoid_cross_entropy_with_logits(df.sigmoid(y), x),
        lambda x, y: df.nn.sparse_softmax_cross_entropy_with_logits(
            df.zeros(x.shape[:-1], df.int32) + k % x.shape[-1], x)][k % 2](a, b)),
    # networks
    "convolution": (2, lambda a, b, k: df.nn.conv1d(
        sequence(a), df.reshape(b, [1 + k % 2, a.shape[-1], -1]), 1 + k % 3 // 2,
        ["SAME", "VALID"][k % 2])),
    "depthwise": (1, lambda a, k: df.nn.depthwise_conv2d(
        sequence(a)[..., None, :], df.ones([3, 1, a.shape[-1], 1]) * .3, [1, 1, 1, 1], "SAME")),
    "pool": (1, lambda a, k: [df.nn.max_pool1d, df.nn.avg_pool1d][k % 2](
        sequence(a), 2, 1 + k % 3 // 2, ["SAME", "VALID"][k // 2 % 2])),
    "resize": (1, lambda a, k: df.image.resize(
        sequence(a)[..., None], [3, 2], ["bilinear", "nearest", "area"][k % 3])[..., 0]),
    "normalization": (1, lambda a, k: [df.nn.layer_norm, df.nn.rms_norm, df.nn.l2_normalize][k % 3](
        a, *[-1] * (k % 3 == 2))),
    "batch norm": (1, lambda a, k: df.nn.fused_batch_norm(
        sequence(a), df.ones([a.shape[-1]]), df.zeros([a.shape[-1]]))[0]),
    "attention": (2, lambda a, b, k: df.nn.scaled_dot_product_attention(
        sequence(a)[None], sequence(b)[None], sequence(b)[None], is_causal=k % 2 == 1)),
    "recurrence": (1, lambda a, k: [
        lambda x, w: df.nn.simple_rnn(x, w(1), w(1)[:3] * .5)[0],
        lambda x, w: df.nn.lstm(x, w(4), df.ones([3, 12]) * .2)[0],
        lambda x, w: df.nn.gru(x, w(3), df.ones([3, 9]) * .2)[0]][k % 3](
            sequence(a), lambda n: df.ones([a.shape[-1], 3 * n]) * .25)),
    "cross entropy": (2, lambda a, b, k: df.nn.softmax_cross_entropy_with_logits(
        labels=df.nn.softmax(b), logits=a)),
}


def autocast_product(a, b, k):
    """Return a product in 16 bits, with a product in full precision inside of the region."""
    with df.autocast([df.bfloat16, df.float16][k % 2]):
        y = df.matmul(df.tanh(a), b, transpose_b=k % 3 == 1)
        with df.autocast(enabled=k % 5 == 0):
            return df.cast(y, a.dtype) + df.cast(df.matmul(df.sin(a), b, transpose_b=k % 3 == 1),
                                                 a.dtype)


def joined(a, b, k):
    """Return values computed from the parts of a join, which may be in its memory, and from it."""
    n = a.shape[0]
    a, b = [df.tile(x, [16] + [1] * (x.ndim - 1)) for x in (a, b)]      # offsets are aligned
    rows = [df.tanh(a), b * .5, a + b, df.sin(b)][:2 + k % 3]
    whole = df.concat(rows, 0) if k % 2 else df.reshape(df.stack(rows), [-1, *a.shape[1:]])
    return whole[:n] + whole[-n:] * rows[k % len(rows)][:n]


def by_hand(a):
    """Return the softmax along the last axis, composed of ops."""
    e = df.exp(a - df.reduce_max(a, -1, keepdims=True))
    return e / df.reduce_sum(e, -1, keepdims=True)


def factors(a, k):
    """Return factors, solutions or determinants of a positive definite matrix."""
    x = df.tanh(df.reshape(a, [-1, a.shape[-1]]))
    matrix = df.matmul(x, x, transpose_a=True) + df.eye(a.shape[-1], dtype=a.dtype)
    linalg, rows = df.linalg, df.transpose(x)
    return [lambda: linalg.cholesky(matrix), lambda: linalg.solve(matrix, rows),
            lambda: linalg.triangular_solve(matrix, rows, lower=k % 2 == 0),
            lambda: linalg.inv(matrix),
            lambda: linalg.slogdet(matrix)[1] + linalg.qr(matrix)[0],
            lambda: df.math.log(linalg.det(matrix)), lambda: linalg.lu(matrix)[0]][k % 7]()


def sequence(a):
    """Return a batch of one sequence of rows."""
    return df.reshape(a, [1, -1, a.shape[-1]])
