"""Philox4x32-10 in plain Python, as in the paper, and the order in which ops consume its words."""

import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(key, counter):
    """Return the four words for a 64-bit key and a 128-bit counter."""
    c = [(counter >> 32 * i) & MASK for i in range(4)]
    k = [key & MASK, key >> 32 & MASK]
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ k[0], q & MASK, p >> 32 ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def stream(seed, number):
    """Return key and first counter of the stream of a pair of integers."""
    a, b, c, d = philox(seed, number)
    return a | b << 32, c | d << 32


def words(seed, number, n_groups):
    """Return the 32-bit words of a stream as uint64, in the order of csrc/simd/rng.h."""
    out = []
    seed, counter = stream(seed % 2**64, number % 2**64)
    for g in range(n_groups):
        four = [philox(seed, (counter + 8 * g + i) % 2**64) for i in range(8)]
        out += [w for c in four for w in c[:2]] + [w for c in four for w in c[2:]]
    return np.array(out, np.uint64)


def draws(key, n):
    """Return n draws of 64 bits."""
    w = words(*key, -(-n // 16))
    return (w[::2] | w[1::2] << np.uint64(32))[:n]


class Element:
    """The draws of one element of a rejection op: blocks with its index as upper half."""

    def __init__(self, seed, number, index):
        self.key, self.counter = stream(seed % 2**64, number % 2**64)
        self.high, self.left = index + 1, []

    def unit(self):
        """Return a value in (0, 1) of 52 bits."""
        if not self.left:
            a, b, c, d = philox(self.key, self.counter + (self.high << 64))
            self.counter = (self.counter + 1) % 2**64
            self.left = [a | b << 32, c | d << 32]
        return ((self.left.pop() >> 12) + 0.5) * 2.0**-52

    def normal(self):
        radius = math.sqrt(-2 * math.log(self.unit()))
        return radius * math.cos(2 * math.pi * self.unit())
