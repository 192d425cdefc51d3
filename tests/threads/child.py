"""Runs programs in processes of their own, so that one that hangs fails its test only."""

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
    """What a Python program prints; it must end by itself, and well."""
    done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(source)],
                          env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=timeout, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
