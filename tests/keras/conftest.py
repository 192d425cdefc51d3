"""Skips the folder if Keras is not installed."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("keras") else ["*"]
