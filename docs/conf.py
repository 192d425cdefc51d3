"""Sphinx: `sphinx-build docs docs/_build`. Examples in docstrings run as doctests in the suite."""

project = "dualflow"
author = "the dualflow developers"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_theme = "alabaster"
html_theme_options = {"description": "one tensor program, run eagerly or as a graph"}
suppress_warnings = ["myst.header"]
