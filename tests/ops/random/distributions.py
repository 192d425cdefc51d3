"""Sampling algorithms of the papers in plain Python: gamma, Poisson and binomial."""

import math

import numpy as np

from tests.ops.case import case
from tests.ops.random.philox import Element

KEY = [12345, 7]


def gamma(d, alpha):
    boost = d.unit() ** (1 / alpha) if alpha < 1 else 1
    third = (alpha + 1 if alpha < 1 else alpha) - 1 / 3
    while True:
        x = d.normal()
        root = 1 + x / math.sqrt(9 * third)
        if root <= 0:
            continue
        v, u = root**3, d.unit()
        if math.log(u) < x * x / 2 + third * (1 - v + math.log(v)):
            return third * v * boost


def poisson(d, rate):
    if rate < 10:
        k, product = 0, d.unit()
        while product > math.exp(-rate):
            k, product = k + 1, product * d.unit()
        return k
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        u, v = d.unit() - 0.5, d.unit()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        scaled = v * (1.1239 + 1.1328 / (b - 3.4)) / (a / us**2 + b)
        if math.log(scaled) <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k


def binomial(d, n, p):
    if p > 0.5:
        return n - binomial(d, n, 1 - p)
    if n * p < 10:
        k, trial = -1, 0.0
        while trial <= n:
            k, trial = k + 1, trial + math.ceil(math.log(d.unit()) / math.log1p(-p))
        return k
    deviation, m = math.sqrt(n * p * (1 - p)), math.floor((n + 1) * p)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p

    def log_ways(k):
        return -math.lgamma(k + 1) - math.lgamma(n - k + 1)

    while True:
        u, v = d.unit() - 0.5, d.unit()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if not 0 <= k <= n:
            continue
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        scaled = v * (2.83 + 5.1 / b) * deviation / (a / us**2 + b)
        if math.log(scaled) <= log_ways(k) - log_ways(m) + (k - m) * math.log(p / (1 - p)):
            return k


def each(draw):
    """Return a reference that calls `draw` per element, with parameters broadcast along rows."""
    def ref(shape, key, *parameters, dtype="float64", output_dtype="float64"):
        rows = [np.broadcast_to(np.asarray(p, "f8"), shape).ravel() for p in parameters]
        samples = [draw(Element(*key, i), *map(float, row)) for i, row in
                   enumerate(zip(*rows, strict=True))]
        return np.array(samples, "f8").reshape(shape)
    return ref


WIDE = {"dtype": "float64"}
for alpha in (0.3, 1.0, 7.5):
    case("random_gamma", args=[[60], KEY, alpha], kwargs=WIDE, ref=each(gamma), grad=(),
         function="random.stateless_gamma", dtypes=("float64",), rel=1e-14, edges=False)
for rate in (4.0, 9.5, 10.0, 250.0):
    case("random_poisson", args=[[60], KEY, rate], kwargs=WIDE, ref=each(poisson), grad=(),
         function="random.stateless_poisson", dtypes=("float64",))
for n, p in ((7, 0.4), (30, 0.9), (100, 0.3), (1000, 0.75)):
    case("random_binomial", args=[[60], KEY, n, p], kwargs={"output_dtype": "float64"},
         ref=each(binomial), function="random.stateless_binomial", dtypes=("float64",), grad=())
