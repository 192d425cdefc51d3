"""CTC loss by the forward recurrence in NumPy; its gradient by the sum over all paths; beam search
by the loss of every label sequence."""

import itertools

import numpy as np

from tests.ops.case import case, normal

LABELS = np.array([[1, 1], [2, 0]])
LENGTHS = np.array([2, 1]), np.array([5, 4])


def np_ctc(labels, logits, label_length, logit_length, logits_time_major=True, unique=None,
           blank_index=0):
    x = logits if logits_time_major else logits.swapaxes(0, 1)
    top = x.max(-1, keepdims=True)
    log_p = x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))
    blank = blank_index % x.shape[-1]
    losses = []
    for b, (n, steps) in enumerate(zip(label_length, logit_length, strict=True)):
        states = [blank] + [c for label in labels[b, :n] for c in (label, blank)]
        skips = [k > 1 and c != blank and c != states[k - 2] for k, c in enumerate(states)]
        a = np.where(np.arange(len(states)) < 2, 0, -np.inf)
        for t in range(steps):
            if t:
                one = np.concatenate([[-np.inf], a[:-1]])
                two = np.where(skips, np.concatenate([[-np.inf] * 2, a])[:len(a)], -np.inf)
                a = np.logaddexp(np.logaddexp(a, one), two)
            a = a + log_p[t, b, states]
        losses.append(-np.logaddexp.reduce(a[-2:] if steps else np.where(n, -np.inf, a[-1:])))
    return np.array(losses)


def of_all_paths(labels, x, n, steps, blank):
    """Return -log of the probability of the paths that yield the labels; x may be complex."""
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    total = 0
    for path in itertools.product(range(x.shape[-1]), repeat=steps):
        if [c for c, _ in itertools.groupby(path) if c != blank] == list(labels[:n]):
            total = total + np.prod([p[t, c] for t, c in enumerate(path)])
    return -np.log(total)


def np_ctc_grad(labels, logits, label_length, logit_length, g, blank_index, time_major):
    """Return the gradient by complex-step differentiation."""
    x = logits if time_major else logits.swapaxes(0, 1)
    slope = np.zeros_like(x)
    for t, b, c in np.ndindex(*x.shape):
        if t < logit_length[b]:
            step = x[:, b].astype(complex)
            step[t, c] += 1e-30j
            made = of_all_paths(labels[b], step, label_length[b], logit_length[b], blank_index)
            slope[t, b, c] = g[b] * made.imag / 1e-30
    return slope if time_major else slope.swapaxes(0, 1)


for kwargs in ({}, {"blank_index": -1}):
    case("ctc_loss", args=[LABELS % (3 - len(kwargs)), normal(5, 2, 3), *LENGTHS], kwargs=kwargs,
         ref=np_ctc, function="nn.ctc_loss", grad=(), rel=1e-6)
case("ctc_loss", args=[LABELS, normal(2, 5, 3), *LENGTHS], ref=np_ctc, function="nn.ctc_loss",
     kwargs={"logits_time_major": False}, grad=(), rel=1e-6)
X = np.random.default_rng(0).normal(size=(5, 2, 3))
for given, time_major in ((X, True), (X.swapaxes(0, 1).copy(), False)):
    case("ctc_loss_grad", args=[LABELS, given, *LENGTHS, np.array([2.0, -0.5]), 0, time_major],
         ref=np_ctc_grad, function="ops.nn.ctc.ctc_loss_grad", dtypes=("float64",), grad=(),
         rel=1e-13)


def labels_by_loss(x, steps, blank, classes):
    """Return all label sequences of one row that have a path, the most likely first."""
    labels = [c for c in range(classes) if c != blank]
    found = []
    for n in range(steps + 1):
        for path in itertools.product(labels, repeat=n):
            loss = np_ctc(np.array([path], int).reshape(1, n), x[:, None], [n], [steps],
                          blank_index=blank)[0]
            found.append((loss, path))
    return sorted(f for f in found if np.isfinite(f[0]))


def np_beam_search(logits, lengths, blank_index, beam_width, top_paths):
    n, rows, classes = logits.shape
    paths, log_p = np.full((top_paths, rows, n), -1), np.full((rows, top_paths), -np.inf)
    for row, steps in enumerate(lengths):
        found = labels_by_loss(logits[:, row], steps, blank_index % classes, classes)
        for k, (loss, path) in enumerate(found[:top_paths]):
            paths[k, row, :len(path)], log_p[row, k] = path, -loss
    return paths, log_p


for kwargs in ({"top_paths": 3}, {"blank_index": 0, "beam_width": 40}):
    case("ctc_beam_search", args=[normal(4, 2, 3), np.array([4, 3])], kwargs=kwargs,
         ref=lambda x, n, blank_index=-1, beam_width=100, top_paths=1: [
             *(p := np_beam_search(x, n, blank_index, beam_width, top_paths))[0], p[1]],
         function="nn.ctc_beam_search_decoder", grad=(), rel=1e-6)
