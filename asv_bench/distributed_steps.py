"""Training steps on several ranks: the overhead of ranks, and the hidden share of network time.

    python asv_bench/distributed_steps.py over [--ranks N] [--optimizer NAME]
    python asv_bench/distributed_steps.py hidden [--ranks N] [--alpha SECONDS] [--rate BYTES]

`over`: compares N ranks with a micro-batch of 784-1024-1024-10 each to one rank with N
micro-batches: the same sums and update, one thread per rank. Blocks of steps alternate. It then
prints the time of instructions by kind and, inside collectives, the time to write, combine and read
shared memory and to wait for others. The lower bound is one micro-batch, the update, and the
copies.

`hidden`: simulates a network in which each reduction takes alpha + bytes / rate longer, while ranks
sleep. Compares steps without it, with synchronous reductions, and with asynchronous reductions:
"hidden" is the share of network time that asynchronous reductions save; "in waits" is the time that
the program waits for results, without and with a progress thread. The last reduction cannot be
hidden; "bound" is the share of the others. Needs an otherwise idle machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BESIDE = Path(sys.executable).parent / "mpiexec"
ROUNDS, STEPS = 30, 3
NETS = {"784-1024-1024-10": [784, 1024, 1024, 10], "16 x 512-512": [512] * 17}
ROWS = {"784-1024-1024-10": 256, "16 x 512-512": 512}


def trained(name, optimizer, shards=None, bucket_bytes=4 << 20):
    """Return a function that runs one step of this rank, the traced step and its arguments."""
    import dualflow as df

    of, widths = df.distribute, NETS[name]
    weights = [df.Variable(df.random.stateless_normal([a, b], [a, b]) * a**-.5, name=f"w{k}")
               for k, (a, b) in enumerate(zip(widths, widths[1:], strict=False))]
    shards = shards or of.size()
    optimizer = of.DistributedOptimizer(getattr(df.optimizers, optimizer)(1e-4), shards=shards,
                                        bucket_bytes=bucket_bytes)
    x = df.random.stateless_uniform([ROWS[name], widths[0]], [0, of.rank()])
    labels = df.random.stateless_uniform([ROWS[name]], [1, of.rank()], 0, 10, df.int32)

    @df.function
    def step(x, labels):
        with df.GradientTape() as tape:
            y = x
            for w in weights:
                y = (df.nn.relu(y) if y is not x else y) @ w
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(labels, y))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    def run():
        for _ in range(shards // of.size()):
            step(x, labels)

    for _ in range(3):
        run()
    return run, step, (x, labels)


def seconds(run, steps=STEPS):
    """Return the seconds per step; all ranks begin together."""
    from dualflow import distribute

    distribute.barrier()
    begin = time.perf_counter()
    for _ in range(steps):
        run()
    return (time.perf_counter() - begin) / steps


def counted(owner, names, found):
    """Replace methods by versions that add their run time to `found`."""
    def timed(name, call):
        def method(*args, **options):
            begin = time.perf_counter()
            try:
                return call(*args, **options)
            finally:
                found[name] = found.get(name, 0) + time.perf_counter() - begin
        return method

    for name in names:
        setattr(owner, name, timed(name, getattr(owner, name)))


def serve_steps(options):
    """Serve step counts that rank 0 reads; print seconds per step, and a profile after 0."""
    from dualflow import distribute as of
    from dualflow.distribute.controller import Controller
    from dualflow.distribute.transport import Transport

    run, step, args = trained("784-1024-1024-10", options.optimizer, options.shards)
    while n := of.broadcast_object(int(sys.stdin.readline()) if of.rank() == 0 else None):
        taken = seconds(run, n)
        if of.rank() == 0:
            print(taken, flush=True)
    kinds = {}
    for row in step.profile(*args, runs=30).rows:
        kind = next((k for k in ("matmul", "update", "host", "start", "wait") if k in row.name),
                    "other")
        kinds[kind] = kinds.get(kind, 0) + row.ns / 1e9
    parts = {}
    counted(Transport, ["reduce", "_hand_in", "_combine_slice", "_take"], parts)
    counted(Controller, ["wait"], parts)
    seconds(run, 50)
    if of.rank() == 0:
        print(json.dumps([kinds, {name: t / 50 for name, t in parts.items()}]), flush=True)


def over(options):
    jobs = {}
    for ranks in (1, options.ranks):
        jobs[ranks] = subprocess.Popen(
            [options.mpiexec, "-n", str(ranks), sys.executable, __file__, "serve", "--shards",
             str(options.ranks), "--optimizer", options.optimizer], env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(ranks, n):
        jobs[ranks].stdin.write(f"{n}\n")
        jobs[ranks].stdin.flush()
        return json.loads(jobs[ranks].stdout.readline())

    times = {ranks: [] for ranks in jobs}
    for _ in range(options.rounds):
        for ranks, taken in times.items():
            time.sleep(0.02)
            taken.append(ask(ranks, STEPS))
    for ranks, taken in times.items():
        print(f"{ranks} ranks, a step of {options.ranks} micro-batches, {options.optimizer}: "
              f"{statistics.median(taken) * 1e3:.2f} ms, least {min(taken) * 1e3:.2f}")
    kinds, parts = ask(options.ranks, 0)
    ask(1, 0)
    print("instructions, ms: " + ", ".join(f"{k} {t * 1e3:.2f}" for k, t in kinds.items()))
    print("in collectives, ms: " + ", ".join(f"{k} {t * 1e3:.2f}" for k, t in parts.items()))


class Network:
    """Simulates a network: sleeps after each reduction."""

    there = False

    def __init__(self, alpha, rate):
        from dualflow.distribute.transport import Transport

        call = Transport.reduce

        def reduce(transport, op, dtype, nodes, leaves, out, doing):
            call(transport, op, dtype, nodes, leaves, out, doing)
            if self.there:
                time.sleep(alpha + len(out) / rate)

        Transport.reduce = reduce


def serve_hidden(options):
    from dualflow import distribute as of
    from dualflow.distribute.progress import ProgressThread, Task

    in_waits = {}
    counted(Task, ["result"], in_waits)
    network = Network(options.alpha, options.rate)
    modes = {"without": (False, False), "waited for": (True, False), "beside": (True, True)}
    for name, bucket_bytes in (("784-1024-1024-10", 4 << 20), ("16 x 512-512", 1 << 20)):
        run, _, _ = trained(name, options.optimizer, bucket_bytes=bucket_bytes)
        times, waits = {mode: [] for mode in modes}, {mode: [] for mode in modes}
        for _ in range(options.rounds):
            for mode, (network.there, ProgressThread.wanted) in modes.items():
                in_waits["result"] = 0
                times[mode].append(seconds(run, 1))
                waits[mode].append(in_waits["result"])
        widths = NETS[name]
        sizes = [4 * a * b for a, b in zip(widths, widths[1:], strict=False)]
        if of.rank() == 0:
            for k, kind in enumerate(("lower quartile", "median")):
                t = {mode: statistics.quantiles(x)[k] for mode, x in times.items()}
                cells = [f"{t[mode] * 1e3:.2f} ms" for mode in modes]
                hidden = (t["waited for"] - t["beside"]) / (t["waited for"] - t["without"])
                w = {mode: statistics.quantiles(x)[k] for mode, x in waits.items()}
                cells += [f"{w['waited for'] * 1e3:.2f} to {w['beside'] * 1e3:.2f} ms"]
                print(f"| {name}, {kind} | {' | '.join(cells)} | {hidden:.0%} | "
                      f"{1 - sizes[0] / sum(sizes):.0%} |", flush=True)


def hidden(options):
    print("| net | without | waited for | beside | in waits | hidden | bound |\n"
          "|---|---|---|---|---|---|---|",
          flush=True)
    bind = ["-bind-to", "core"] if options.bind else []
    subprocess.run([options.mpiexec, *bind, "-n", str(options.ranks), sys.executable, __file__,
                    "serve-hidden", "--optimizer", options.optimizer, "--alpha",
                    str(options.alpha), "--rate", str(options.rate), "--rounds",
                    str(options.rounds)], env=environment(), check=True)


def environment():
    return {**os.environ, "DUALFLOW_NUM_THREADS": "1",
            "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["over", "hidden", "serve", "serve-hidden"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--optimizer", default="Adam")
    parser.add_argument("--alpha", type=float, default=5e-5, help="seconds")
    parser.add_argument("--rate", type=float, default=7.5e8, help="bytes per second")
    parser.add_argument("--mpiexec", default=str(BESIDE) if BESIDE.exists() else "mpiexec")
    parser.add_argument("--bind", action="store_true", help="bind each rank to a core (MPICH)")
    parser.add_argument("--shards", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.what.startswith("serve"):
        from dualflow import distribute

        distribute.init()
        (serve_steps if options.what == "serve" else serve_hidden)(options)
    else:
        (over if options.what == "over" else hidden)(options)


if __name__ == "__main__":
    main()
