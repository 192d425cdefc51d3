"""Times one library, in a process of its own: a request a line, an answer a line, as JSON.

    {"kind": ..., "args": ...}    prepares a piece of work: {"once": seconds}, or {"missing": why}
    {"calls": n}                  runs it: {"seconds": of one call}
"""

import importlib
import json
import os
import sys
import timeit

WARM_UP = 3


def prepare(library, request):
    """The fastest of the ways that a library has for a piece of work, called a few times; and how
    many calls one of its calls counts for."""
    make = getattr(library, request["kind"])
    ways = make(**request["args"])
    ways = ways if isinstance(ways, list) else [ways]
    best = None
    for way in ways:
        call, inner = way if isinstance(way, tuple) else (way, 1)
        for _ in range(WARM_UP):
            call()
        once = min(timeit.repeat(call, number=1, repeat=3))
        if best is None or once / inner < best[0]:
            best = once / inner, call, inner
    return best


def answer(library, state, request):
    if "kind" in request:
        state.clear()
        once, *state["work"] = prepare(library, request)
        return {"once": once * state["work"][1]}
    call, inner = state["work"]
    n = request["calls"]
    return {"seconds": timeit.timeit(call, number=n) / n / inner}


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")         # libraries may print
    os.dup2(2, 1)
    try:
        library = importlib.import_module(f"asv_bench.peers.in_{name}")
        version = library.start(threads)
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers, flush=True)
        return
    print(json.dumps({"version": version}), file=answers, flush=True)
    state = {}
    for line in sys.stdin:
        try:
            found = answer(library, state, json.loads(line))
        except Exception as error:
            state.clear()
            found = {"missing": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
