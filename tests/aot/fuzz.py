"""Fuzzer that loads and runs changed program files: `python -m tests.aot.fuzz --seconds 60`.

The files hold random programs, branches, loops, and a training step. A changed file must be
rejected, or its program must run to the end or to an alarm; any other outcome is a bug. Run the
fuzzer under the sanitizers. The last file tried is kept at `--file`.

With `--through PROGRAM`, a program that reads file names tries the files: swallow.c, linked with a
C library built with another sanitizer."""

import argparse
import faulthandler
import json
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import NamedTuple

import dualflow as df
from dualflow.aot.contents import Contents
from dualflow.aot.entry import make_entry
from dualflow.aot.flat import Flat
from dualflow.aot.save_program import HEADER, Words, laid_out, program_bytes, with_header
from dualflow.errors import DualflowError
from tests.aot.misplaced import misplaced
from tests.aot.models import control, mlp
from tests.aot.random_programs import RandomFunction, random_program

SECONDS = 0.3                     # time limit of a run
HANG = 60
LARGE = 1 << 20                   # programs with more bytes or elements are not run
STRINGS, WORDS, CONSTANTS, STRUCTURE, WEIGHTS = range(5)
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 257, 1023,
           4096, 65536, 2**31 - 1, 2**31, 2**32, 2**52, 2**60, 2**62, 2**63 - 1]
NUMBERS += [-x for x in NUMBERS] + [-2**63, struct.unpack("<q", struct.pack("<d", float("nan")))[0]]


class Late(BaseException):
    """Raised by the alarm."""


class Sample(NamedTuple):
    """A valid file: its sections, and the contents its programs were written from."""

    sections: list
    contents: Contents
    flat: Flat

    def written(self, programs):
        """Return its sections with other programs."""
        flat, (_, places) = copy(self.flat), laid_out(self.flat.constants)
        flat.programs = programs
        words = Words(self.contents, flat, "f", places)
        strings = b"".join([text.encode() + b"\0" for text in words.strings])
        return [strings, packed(words.words), *self.sections[CONSTANTS:]]


def sample(function):
    contents = Contents([make_entry("program", function, "fuzz")])
    return Sample(sections_of(b"".join(program_bytes(function))), contents, Flat(contents))


def corpus(seeds):
    """Return valid files."""
    step, predict, x, y = mlp(rate=0.5)
    run, z, n = control()
    functions = [step.get_concrete_function(x, y), predict.get_concrete_function(x),
                 run.get_concrete_function(z, n), kept().get_concrete_function(x)]
    functions += [random_program(seed, 12)[0] for seed in seeds]
    functions += [RandomFunction(seed).concrete() for seed in seeds]
    files = []
    for f in functions:
        with suppress(df.errors.UnimplementedError):        # calls Python
            files.append(sample(f))
    return files


def kept():
    """Return a function that caches results of a variable and returns a constant."""
    w = df.Variable(df.ones([8, 8]), name="w")
    return df.function(lambda x: (x @ (w @ w), df.logical_not(df.constant([True, False])), x))


def sections_of(data):
    """Return the sections that a header lists."""
    table = HEADER.unpack(data[:HEADER.size])[5:]
    return [data[at:at + n] for at, n in zip(table[::2], table[1::2], strict=True)]


def words_of(section):
    return list(struct.unpack(f"<{len(section) // 8}q", section[:len(section) // 8 * 8]))


def packed(words):
    return struct.pack(f"<{len(words)}q", *[(w + 2**63) % 2**64 - 2**63 for w in words])


def change_words(rng, words):
    """Replace one word or range of words of the programs."""
    at, other = rng.randrange(len(words)), rng.randrange(len(words))
    kind = rng.randrange(10)
    if kind < 3:
        words[at] += rng.choice([-1, 1, 1, 2, -2, 8, 64, -64])
    elif kind < 5:
        words[at] = rng.choice(NUMBERS)
    elif kind < 7:                              # copied from another position, often nearby
        words[at] = words[rng.choice([other, max(0, min(len(words) - 1, at + rng.randrange(
            -40, 41)))])]
    elif kind == 7:
        words[at], words[other] = words[other], words[at]
    elif kind == 8:
        words.insert(at, rng.choice([0, 1, -1, words[other]]))
    else:
        n = rng.choice([1, 1, 2, 8])
        del words[at:at + n]
    return words


def change_bytes(rng, data, n=1):
    data = bytearray(data)
    for _ in range(n if data else 0):
        at = rng.randrange(len(data))
        data[at] = rng.choice([data[at] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 255])
    return bytes(data)


def changed(rng, file):
    """Return the bytes of a file with a few changes."""
    if rng.randrange(2):
        programs = file.flat.programs
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            programs = misplaced(rng, programs)
        return b"".join(with_header(file.written(programs)))
    sections = list(file.sections)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        kind = rng.randrange(20)
        if kind < 13:
            words = words_of(sections[WORDS])
            sections[WORDS] = packed(change_words(rng, words) if words else [0])
        elif kind < 18:
            k = rng.choice([STRINGS, CONSTANTS, STRUCTURE, WEIGHTS, WEIGHTS])
            sections[k] = change_bytes(rng, sections[k], rng.choice([1, 1, 3]))
        elif kind == 18:
            sections[STRUCTURE] = change_json(rng, sections[STRUCTURE])
        else:
            k = rng.randrange(len(sections))
            sections[k] = sections[k][:rng.randrange(len(sections[k]) + 1)]
    data = b"".join(with_header(sections))
    kind = rng.randrange(30)
    if kind == 0:
        return data[:rng.randrange(len(data))]
    if kind == 1:
        return change_bytes(rng, data[:HEADER.size], 2) + data[HEADER.size:]
    if kind == 2:                               # a header field
        fields = list(HEADER.unpack(data[:HEADER.size]))
        k = rng.randrange(3, len(fields))
        fields[k] = max(0, min(2**64 - 1, rng.choice([fields[k] + rng.choice([-64, -8, 8, 64]),
                                                      rng.choice(NUMBERS) % 2**64])))
        return HEADER.pack(*fields) + data[HEADER.size:]
    return data


def change_json(rng, text):
    """Return JSON with one part replaced by another."""
    try:
        said = json.loads(text)
    except ValueError:
        return text
    parts = []

    def walk(x):
        if isinstance(x, dict | list):
            for key in list(x) if isinstance(x, dict) else range(len(x)):
                parts.append((x, key))
                walk(x[key])

    walk(said)
    if parts:
        (x, key), (y, other) = rng.choice(parts), rng.choice(parts)
        x[key] = rng.choice([y[other], None, -1, 1, [], {}, "x", 1e300])
    try:
        return json.dumps(said).encode()
    except (ValueError, RecursionError):        # contains itself
        return text


def is_small(spec):
    """Return True if one run of the program is short."""
    def elements(shape):
        n = 1
        for d in shape:
            n *= 1 if d is None else d
        return n

    tensors = *spec.slots, *spec.arguments, *spec.results
    if spec.arena_bytes > 16 * LARGE or any([elements(x.shape) > LARGE for x in tensors]):
        return False
    for x in spec.instructions:
        for value in () if x.attrs is None else x.attrs.values:
            if isinstance(value, tuple) and len(value) < 9 and elements([abs(v) or 1 for v in value]
                                                                        ) > 64 * LARGE:
                return False
            if x.op.name != "loop" and type(value) is int and abs(value) > LARGE:
                return False
        if not all(map(is_small, x.bodies)):
            return False
    return spec.cached is None or is_small(spec.cached)


def drawn(rng, dtype, shape):
    """Return a tensor of values, mostly small ones."""
    key = df.constant([rng.randrange(2**31), 0], df.int64)
    if dtype.is_floating:
        return df.cast(df.random.stateless_normal(shape, key), dtype)
    high = rng.choice([2, 2, 5, 100])
    return df.cast(df.random.stateless_uniform(shape, key, rng.choice([0, 0, -high]), high,
                                               df.int64), dtype)


def attempt(rng, path):
    """Load and run a file, and return the outcome."""
    try:
        f = df.load_program(path)
    except DualflowError as error:
        return "refused" if str(path) in str(error) else f"a message without the file: {error}"
    repr(f)
    str(f.spec)
    if not is_small(f.spec):
        return "too large"
    args = {k: drawn(rng, dtype, shape) for k, (_, dtype, shape) in
            enumerate(f._structure.inputs)}
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        for _ in range(2):
            f._executable.run([args[k] for k in range(len(args))])
    except Late:
        return "stopped"
    except DualflowError:
        return "failed"
    except MemoryError:
        return "too large"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "ran"


def fuzz(seconds, seed, path):
    """Try files for some seconds, and return the number of each outcome."""
    def late(number, frame):
        raise Late

    signal.signal(signal.SIGALRM, late)
    rng = random.Random(seed)
    files = corpus(range(seed, seed + 12))
    counts, end = {}, time.monotonic() + seconds
    while time.monotonic() < end:
        path.write_bytes(changed(rng, rng.choice(files)))
        faulthandler.dump_traceback_later(HANG, exit=True, file=sys.__stderr__)
        try:
            what = attempt(rng, path)
        except Late:                    # alarm after the end of a run
            what = "stopped"
        except Exception as error:      # unexpected errors are the fuzzer's findings
            raise AssertionError(f"{path}, of seed {seed}") from error
        faulthandler.cancel_dump_traceback_later()
        assert " " not in what or what == "too large", what
        counts[what] = counts.get(what, 0) + 1
    return counts


def pour(seconds, seed, program, n=500):
    """Let a program try files, `n` in a folder at a time; return the number of each outcome."""
    rng = random.Random(seed)
    files, counts, end = corpus(range(seed, seed + 12)), {}, time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"{k}.df") for k in range(n)]
            for path in paths:
                path.write_bytes(changed(rng, rng.choice(files)))
            ran = subprocess.run([program], input="".join([f"{path}\n" for path in paths]),
                                 text=True, capture_output=True, check=False)
            if ran.returncode:
                at = Path(ran.stdout.partition(": status")[0])
                kept = at.rename(f"/tmp/broken_{seed}.df") if at.is_file() else at
                raise AssertionError(f"{kept}: {ran.stdout}{ran.stderr[-5000:]}")
            for what, count in re.findall(r"(\w[\w ]*) (\d+), ", ran.stdout):
                counts[what] = counts.get(what, 0) + int(count)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, default=Path("/tmp/fuzz.df"))
    parser.add_argument("--only", action="store_true", help="try the file as it is")
    parser.add_argument("--through", type=Path, help="a program that tries them")
    given = parser.parse_args()
    faulthandler.enable()
    if given.only:
        print(attempt(random.Random(0), given.file))
    elif given.through:
        print(pour(given.seconds, given.seed, given.through))
    else:
        print(fuzz(given.seconds, given.seed, given.file))
