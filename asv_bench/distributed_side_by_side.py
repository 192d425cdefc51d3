"""Compares the allreduce of two ranks with PyTorch's gloo, and with the cost of copying.

    python asv_bench/distributed_side_by_side.py [--python PATH] [--ranks N] [--rounds N]

dualflow runs under mpiexec, PyTorch in the same number of separate processes of the interpreter
given by `--python`, on the loopback interface, where it is fastest. Each process computes with one
thread and reuses its buffers; results are checked. Blocks of calls alternate. Figures are the
median and the minimum of the blocks. The share is dualflow's time over gloo's, for the median and
the minimum. The limit is the time in which all ranks concurrently copy the same number of bytes
between two of their buffers.
"""

import argparse
import math
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

BLOCKS, BLOCK_SECONDS, PAUSE = 25, 0.05, 0.02
SIZES = {"barrier": 0, "4 KB": 4 << 10, "64 KB": 64 << 10, "1 MB": 1 << 20, "16 MB": 16 << 20}
AIMS = {"1 MB": 1.1, "16 MB": 1.1}
BESIDE = Path(sys.executable).parent / "mpiexec"


class OfDualflow:
    """dualflow's allreduce, barrier and copies."""

    def __init__(self):
        import dualflow as df

        self.df, self.of = df, df.distribute
        self.of.init()
        self.rank, self.ranks = self.of.rank(), self.of.size()

    def broadcast(self, order):
        return self.of.broadcast_object(order)

    def work(self, what, n):
        df, of = self.df, self.of
        if what == "copy":
            a, b = memoryview(bytearray(b"1" * n)), memoryview(bytearray(n))

            def copy():
                b[:] = a
            return copy
        if what == "barrier":
            return of.barrier
        x = df.ones([n // 4]) * (self.rank + 1.)
        total = self.ranks * (self.ranks + 1) / 2
        assert df.reduce_all(of.allreduce(x, "sum") == total).item()
        return lambda: of.allreduce(x, "sum")


class OfTorch:
    """gloo's allreduce, in place, and barrier."""

    def __init__(self):
        import torch
        import torch.distributed as of

        torch.set_num_threads(1)
        self.torch, self.of = torch, of
        of.init_process_group("gloo")
        self.rank, self.ranks = of.get_rank(), of.get_world_size()

    def broadcast(self, order):
        orders = [order]
        self.of.broadcast_object_list(orders)
        return orders[0]

    def work(self, what, n):
        if what == "barrier":
            return self.of.barrier
        x = self.torch.full([n // 4], self.rank + 1.)
        self.of.all_reduce(x)
        assert (x == self.ranks * (self.ranks + 1) / 2).all()
        return lambda: self.of.all_reduce(x)


def serve(who):
    """Serve requests that rank 0 reads: the operation, bytes and repetitions. Rank 0 prints the
    seconds per call. All ranks start a measurement together."""
    job = {"dualflow": OfDualflow, "torch": OfTorch}[who]()
    calls = {}
    while True:
        order = job.broadcast(sys.stdin.readline().split() if job.rank == 0 else None)
        if not order:
            break
        what, n, times = order[0], int(order[1]), int(order[2])
        if (what, n) not in calls:
            calls[what, n] = job.work(what, n)
        call = calls[what, n]
        job.broadcast(None)
        call()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        seconds = (time.perf_counter() - begin) / times
        if job.rank == 0:
            print(seconds, flush=True)


class Job:
    """The serving ranks of one library."""

    def __init__(self, who, commands, environments):
        self.who = who
        self.ranks = [subprocess.Popen(command, env={**os.environ, **env}, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                      for command, env in zip(commands, environments, strict=True)]

    def seconds(self, what, n, times):
        self.ranks[0].stdin.write(f"{what} {n} {times}\n")
        self.ranks[0].stdin.flush()
        return float(self.ranks[0].stdout.readline())

    def stop(self):
        for rank in self.ranks:
            rank.stdin.close()
        for rank in self.ranks:
            rank.wait()


def jobs(options):
    one = {"DUALFLOW_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
           "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    ranks, me = options.ranks, [__file__, "--serve"]
    yield Job("dualflow", [[options.mpiexec, "-n", str(ranks), sys.executable, *me, "dualflow"]],
              [one])
    if options.python:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        yield Job("torch", [[options.python, *me, "torch"]] * ranks, [
            {**one, "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
             "RANK": str(r), "WORLD_SIZE": str(ranks)} for r in range(ranks)])


def measure(works, n, rounds):
    """Return the seconds per call of each block, by name."""
    calls, times = {}, {}
    for name, (job, what) in works.items():
        job.seconds(what, n, 3)
        calls[name] = max(1, math.ceil(BLOCK_SECONDS / job.seconds(what, n, 10)))
        times[name] = []
    for _ in range(rounds):
        for name, (job, what) in works.items():
            time.sleep(PAUSE)
            times[name].append(job.seconds(what, n, calls[name]))
    return times


def duration(times):
    return f"{statistics.median(times) * 1e3:.3g} / {min(times) * 1e3:.3g} ms"


def share(ours, theirs):
    return (f"{statistics.median(ours) / statistics.median(theirs):.2f} / "
            f"{min(ours) / min(theirs):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", help="an interpreter with torch")
    parser.add_argument("--mpiexec", default=str(BESIDE) if BESIDE.exists() else "mpiexec")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=BLOCKS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    running = {job.who: job for job in jobs(options)}
    print("| allreduce | dualflow | gloo | share | aim | limit |")
    print("|---|---|---|---|---|---|")
    for name, n in SIZES.items():
        works = {who: (job, "allreduce" if n else "barrier") for who, job in running.items()}
        works["copy"] = running["dualflow"], "copy"
        found = measure(works, n, options.rounds)
        ours, theirs = found["dualflow"], found.get("torch")
        cells = [duration(ours), "-" if theirs is None else duration(theirs),
                 "-" if theirs is None else share(ours, theirs), str(AIMS.get(name, "-")),
                 duration(found["copy"])]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for job in running.values():
        job.stop()


if __name__ == "__main__":
    main()
