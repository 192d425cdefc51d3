"""Runs programs in separate processes, so that a program that hangs fails only its test."""

import os
import subprocess
import sys
import textwrap

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import dualflow as df
"""


def run(source, timeout=60, **environment):
    """Return the output of a Python program, which must exit with 0 in time."""
    done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(source)],
                          env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=timeout, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
