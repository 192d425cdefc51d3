"""Times one library in a separate process, with a JSON request and a JSON answer per line.

    {"kind": ..., "args": ...}    prepares work: {"once": seconds}, or {"missing": reason}
    {"calls": n}                  runs it: {"seconds": per call}
"""

import importlib
import json
import os
import sys
import timeit

WARM_UP = 3


def prepare(library, request):
    """Return the fastest implementation of a library after a few calls: its time, the call, and
    the number of operations that a call counts for."""
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
    answers = os.fdopen(os.dup(1), "w")         # separate from stdout, to which libraries may print
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
