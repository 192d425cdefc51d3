"""Sphinx: `make -C docs` writes the site to docs/_build. Examples run as doctests in the suite."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "ext"))

import dualflow

project = "dualflow"
author = "the dualflow developers"
html_show_copyright = False
release = version = dualflow.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "myst_parser",
              "sphinx_copybutton", "sphinx_design", "pages", "entries", "book"]
exclude_patterns = ["_build", "ext"]
toc_object_entries = False                  # a table on each page lists them
default_role = "py:obj"                     # `name` in a docstring links to its entry

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"dualflow {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#7fb7f0", "color-brand-content": "#7fb7f0"},
}
