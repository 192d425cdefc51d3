"""Headline figures over the commits of milestones.txt, each built in a separate environment.

    python asv_bench/history.py [--quick] [--draw-only] [--picture docs/history.svg]

Runs asv on the milestones without results, publishes its HTML, and draws a curve for each figure of
benchmarks/headline.py. To compare a change: `asv continuous MILESTONE HEAD -b headline`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / ".asv/results"


def milestones():
    """Return (commit, name) of each milestone, oldest first."""
    lines = (HERE / "milestones.txt").read_text().splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def asv(*arguments):
    subprocess.run([sys.executable, "-m", "asv", *arguments], cwd=HERE, check=True)


def full(commit):
    return subprocess.run(["git", "rev-parse", commit], cwd=HERE, check=True, text=True,
                          capture_output=True).stdout.strip()


def run(quick):
    asv("machine", "--yes")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(full(commit) for commit, _ in milestones()))
        file.flush()
        asv("run", f"HASHFILE:{file.name}", "--bench", "headline", "--skip-existing-successful",
            *["--quick"] * quick)
    asv("publish")


def figures():
    """Return {figure: [seconds or None, for each milestone]} for the most recent machine."""
    files = {}
    for path in sorted(RESULTS.glob("*/*.json"), key=lambda p: p.stat().st_mtime):
        data = json.loads(path.read_text())
        if "commit_hash" in data:
            files[data["commit_hash"]] = data
    found = {}
    for k, (commit, _) in enumerate(milestones()):
        data = files.get(full(commit))
        for name, row in (data["results"] if data else {}).items():
            if "headline" in name and row:
                row = dict(zip(data["result_columns"], row, strict=False))
                for param, seconds in zip(row["params"][0], row["result"] or [], strict=False):
                    curve = found.setdefault(param.strip("'"), [None] * len(milestones()))
                    curve[k] = seconds if seconds and seconds > 0 else None     # NaN: not supported
    return found


def draw(path):
    """Draw a small plot for each figure, from its first milestone on."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    curves, names = figures(), [name for _, name in milestones()]
    figure, grid = plt.subplots(2, 5, figsize=(14, 5.5), layout="constrained", sharex=True)
    for axes, (name, seconds) in zip(grid.flat, curves.items(), strict=False):
        axes.plot([s and s * 1e6 for s in seconds], "o-", color="#3b7dd8")
        axes.set_title(name, fontsize=8)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("µs", fontsize=7)
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
        axes.tick_params(axis="y", labelsize=7)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="each benchmark once")
    parser.add_argument("--draw-only", action="store_true", help="use existing results")
    parser.add_argument("--picture", default=str(HERE.parent / "docs/history.svg"))
    options = parser.parse_args()
    if not options.draw_only:
        run(options.quick)
    draw(options.picture)
    for name, seconds in figures().items():
        cells = ["-" if s is None else f"{s * 1e6:.4g} µs" for s in seconds]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
