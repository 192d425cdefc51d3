"""Run Keras's own tests on dualflow, a folder at a time, and compare with known failures.

    python tests/keras/referee/run.py [words of paths] [--update]

The baseline lists the ids of failing tests. It may only shrink: any other failure is an error, and
`--update` removes the ids of tests that pass.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.txt"
LEFT_OUT = ("/applications/", "/wrappers/", "/distribution/", "/backend/jax/", "/backend/torch/",
            "/backend/tensorflow/", "/datasets/")
SECONDS = 7200                      # limit per folder


def files(words):
    """Return Keras's test files, without other backends and data sets."""
    root = Path(importlib.util.find_spec("keras").submodule_search_locations[0])
    for path in sorted(root.rglob("*_test.py")):
        name = path.relative_to(root.parent).as_posix()
        if not any(part in name for part in LEFT_OUT) and (
                not words or any(word in name for word in words)):
            yield root.parent, name


def folders(words):
    """Return the same files by folder."""
    found = {}
    for root, name in files(words):
        found.setdefault(name.rpartition("/")[0], []).append(root / name)
    return root, found


def run(root, names, label):
    """Return the ids of failing tests in some files, and pytest's last line."""
    with tempfile.TemporaryDirectory() as folder:
        failing = Path(folder) / "failing"
        command = [sys.executable, "-m", "pytest", "-p", "dualflow_referee", "-o", "addopts=",
                   "-p", "no:cacheprovider", "-q", "--tb=no", "--rootdir", root,
                   "--failing", failing, *names]
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        try:
            done = subprocess.run(command, cwd=folder, env=env, timeout=SECONDS,
                                  capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return {f"{label} takes too long"}, "it takes too long"
        last = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[-1]
        if not failing.exists():
            return {f"{label} crashed"}, last
        return set(failing.read_text().split("\n")) - {""}, last


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    known = set(BASELINE.read_text().split("\n")) - {""} if BASELINE.exists() else set()
    seen, failed = set(), set()
    root, found = folders(options.words)
    for label, names in found.items():
        failing, last = run(root, names, label)
        ran = [path.relative_to(root).as_posix() for path in names]
        seen |= {k for k in known if k.partition("::")[0] in ran}
        failed |= failing
        print(f"{label}: {last}", flush=True)
    new, gone = failed - known, seen - failed
    for title, names in (("fail, and are not in the baseline", new), ("pass now", gone)):
        if names:
            print(f"{len(names)} {title}:", *sorted(names), sep="\n  ")
    if options.update:
        kept = (known | failed if not BASELINE.exists() else known) - gone
        BASELINE.write_text("".join(f"{name}\n" for name in sorted(kept)))
    sys.exit(bool(new))


if __name__ == "__main__":
    main()
