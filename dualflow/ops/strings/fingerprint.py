"""Fingerprints of bytes: FarmHash's Fingerprint64, MurmurHash64A and SipHash-2-4.

The algorithms are public: Geoff Pike's FarmHash (`farmhashna`), Austin Appleby's MurmurHash2,
and SipHash by Jean-Philippe Aumasson and Daniel J. Bernstein (https://ia.cr/2012/351).
All arithmetic is modulo 2**64.
"""

from __future__ import annotations

__all__ = ["fingerprint64", "murmur64", "siphash64"]

MASK = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(s: bytes, at: int, n: int = 8) -> int:
    return int.from_bytes(s[at:at + n], "little")


def _rotated(x: int, n: int) -> int:
    x &= MASK
    return (x >> n | x << (64 - n)) & MASK


def _folded(x: int) -> int:
    x &= MASK
    return x ^ x >> 47


def _mixed(u: int, v: int, factor: int) -> int:
    a = _folded((u ^ v) * factor)
    return _folded((v ^ a) * factor) * factor & MASK


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Hash 32 bytes weakly, with two seeds."""
    w, x, y, z = [_word(s, at + k) for k in range(0, 32, 8)]
    a += w
    b = _rotated(b + a + z, 21)
    c = a
    a += x + y
    return (a + z) & MASK, (b + _rotated(a, 44) + c) & MASK


def fingerprint64(s: bytes) -> int:
    """Return FarmHash's Fingerprint64 of bytes."""
    n = len(s)
    factor = K2 + 2 * n
    if n > 64:
        return _long(s)
    if n >= 17:
        return _middle(s, factor)
    if n >= 8:
        a, b = _word(s, 0) + K2, _word(s, n - 8)
        c = _rotated(b, 37) * factor + a & MASK
        return _mixed(c, (_rotated(a, 25) + b) * factor & MASK, factor)
    if n >= 4:
        return _mixed(n + (_word(s, 0, 4) << 3), _word(s, n - 4, 4), factor)
    if n:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[n - 1] << 2)
        return _folded(y * K2 ^ z * K0) * K2 & MASK
    return K2


def _middle(s: bytes, factor: int) -> int:
    """Hash 17 to 64 bytes."""
    n = len(s)
    a, b = _word(s, 0) * (K1 if n <= 32 else K2), _word(s, 8)
    c, d = _word(s, n - 8) * factor, _word(s, n - 16) * K2
    y = (_rotated(a + b, 43) + _rotated(c, 30) + d) & MASK
    z = _mixed(y, (a + _rotated(b + K2, 18) + c) & MASK, factor)
    if n <= 32:
        return z
    e, f = _word(s, 16) * factor, _word(s, 24)
    g, h = (y + _word(s, n - 32)) * factor, (z + _word(s, n - 24)) * factor
    return _mixed((_rotated(e + f, 43) + _rotated(g, 30) + h) & MASK,
                  (e + _rotated(f + a, 18) + g) & MASK, factor)


def _long(s: bytes) -> int:
    """Hash more than 64 bytes."""
    n = len(s)
    x, y = 81 * K2 + _word(s, 0), 81 * K1 + 113
    z = _folded(y * K2 + 113) * K2
    v = w = 0, 0
    for at in range(0, (n - 1) // 64 * 64, 64):
        x, y, z, v, w = _round(s, at, x, y, z, v, w, K1, 1)
    factor = K1 + ((z & 255) << 1)
    w0 = w[0] + (n - 1) % 64
    v0 = v[0] + w0
    w0 += v0
    x, y, z, v, w = _round(s, n - 64, x, y, z, (v0, v[1]), (w0, w[1]), factor, 9)
    return _mixed(_mixed(v[0], w[0], factor) + _folded(y) * K0 + z & MASK,
                  _mixed(v[1], w[1], factor) + x & MASK, factor)


def _round(s: bytes, at: int, x: int, y: int, z: int, v: tuple[int, int], w: tuple[int, int],
           factor: int, weight: int) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """Hash 64 bytes into the state."""
    x = _rotated(x + y + v[0] + _word(s, at + 8), 37) * factor ^ w[1] * weight
    y = _rotated(y + v[1] + _word(s, at + 48), 42) * factor
    y += v[0] * weight + _word(s, at + 40)
    z = _rotated(z + w[0], 33) * factor
    v = _weak(s, at, v[1] * factor, x + w[0])
    w = _weak(s, at + 32, z + w[1], y + _word(s, at + 16))
    return z & MASK, y & MASK, x & MASK, v, w


def murmur64(s: bytes) -> int:
    """Return MurmurHash64A of bytes, with the seed 0xDECAFCAFFE."""
    factor, n = 0xC6A4A7935BD1E995, len(s)
    h = 0xDECAFCAFFE ^ n * factor & MASK
    for at in range(0, n - 7, 8):
        h = (h ^ _folded(_word(s, at) * factor) * factor & MASK) * factor & MASK
    if n % 8:
        h = (h ^ _word(s, n - n % 8)) * factor & MASK
    return _folded(_folded(h) * factor)


def siphash64(s: bytes, key: tuple[int, int]) -> int:
    """Return SipHash-2-4 of bytes with a key of two 64-bit integers."""
    v = [key[k % 2] & MASK ^ word for k, word in enumerate((
        0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573))]
    last = len(s) % 256 << 56 | int.from_bytes(s[len(s) // 8 * 8:], "little")
    for word in (*[_word(s, at) for at in range(0, len(s) - 7, 8)], last):
        v[3] ^= word
        _sip_rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xFF
    _sip_rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _sip_rounds(v: list[int], n: int) -> None:
    for _ in range(n):
        for a, b, c, d, left, right in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
            v[a], v[c] = v[a] + v[b] & MASK, v[c] + v[d] & MASK
            v[b], v[d] = _left(v[b], left) ^ v[a], _left(v[d], right) ^ v[c]
            if a == 0:
                v[0] = _left(v[0], 32)
            else:
                v[2] = _left(v[2], 32)


def _left(x: int, n: int) -> int:
    return (x << n | x >> 64 - n) & MASK
