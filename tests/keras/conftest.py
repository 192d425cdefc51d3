"""Keras is optional: without it there is nothing to test."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("keras") else ["*"]
