"""Run the array API standard's own tests on `dualflow.array_api`, and compare with exclusions.

    git clone --branch 2026.02.26 --recurse-submodules https://github.com/data-apis/array-api-tests
    pip install pytest-json-report ndindex
    python tests/array_api/referee/run.py array-api-tests [words of ids] [--examples 100]

The environment variable ARRAY_API_TESTS may give the path of the checkout instead. Each line of
exclusions.txt lists tests that may fail, with a reason. Any other failure is an error, and so is a
line that matches no failing test, unless its reason begins with "sometimes": the values of a test
are random.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PINNED = "2026.02.26"


def exclusions():
    """Return pairs of an id of tests that may fail, in which * matches anything, and a reason."""
    lines = (HERE / "exclusions.txt").read_text().splitlines()
    return [line.split("  # ") for line in lines if line and not line.startswith("#")]


def matches(pattern, name):
    wanted = ".*".join(map(re.escape, pattern.split("*")))
    return re.fullmatch(wanted, name.removeprefix("array_api_tests/")) is not None


def check_version(checkout):
    """Raise an error unless the checkout is the pinned version, since other versions differ."""
    def commit(name):
        return subprocess.run(["git", "-C", checkout, "rev-parse", f"{name}^{{commit}}"],
                              capture_output=True, text=True, check=False).stdout

    if commit("HEAD") != commit(PINNED):
        sys.exit(f"{checkout}: want version {PINNED}: git -C {checkout} checkout {PINNED}")


def run(checkout, words, examples):
    """Return the ids of failing tests, and pytest's last line."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--tb=short",
                   "-o", f"cache_dir={folder}", "-k", " or ".join(words), "--disable-deadline",
                   "--max-examples", str(examples)]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths),
               "ARRAY_API_TESTS_MODULE": "dualflow.array_api"}
        done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True,
                              check=False)
        last = Path(folder, "v/cache/lastfailed")
        if done.returncode not in (0, 1):
            sys.exit(done.stdout + done.stderr)
        failing = set(json.loads(last.read_text())) if last.exists() else set()
        return failing, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", nargs="?", default=os.environ.get("ARRAY_API_TESTS"))
    parser.add_argument("words", nargs="*")
    parser.add_argument("--examples", type=int, default=100, help="per test")
    options = parser.parse_args()
    if options.checkout is None:
        parser.error("want the path of a checkout of array-api-tests")
    check_version(options.checkout)
    failing, said = run(options.checkout, options.words, options.examples)
    known = exclusions()
    excused = {name for name in failing if any(matches(p, name) for p, _ in known)}
    needless = [p for p, reason in known if not reason.startswith("sometimes")
                and not any(matches(p, name) for name in failing)]
    print(said if failing - excused else said.splitlines()[-1])
    passed = int((re.findall(r"(\d+) passed", said) or [0])[-1])
    n = passed + len(failing - excused)
    print(f"{len(excused)} failures are excluded; of the other tests {passed} of {n} pass")
    for title, names in (("fail, and are not excluded", failing - excused),
                         ("lines exclude what passes", [] if options.words else needless)):
        if names:
            print(f"{len(names)} {title}:", *sorted(names), sep="\n  ")
    sys.exit(bool(failing - excused or (needless and not options.words)))


if __name__ == "__main__":
    main()
