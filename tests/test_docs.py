"""Examples in docstrings run, and every public function documents itself."""

import doctest
import importlib
import importlib.util
import inspect
import logging
import pathlib
import pkgutil
import re

import pytest

import dualflow as df
from dualflow.graph import passes
from tests import guides

ROOT = pathlib.Path(__file__).parent.parent
TOURS = ["examples/eager_tour.md", "examples/tracing_tour.md"]
OPTIONAL = [name for name, needs in [("keras", "keras"), ("onnx", "onnx"), ("distribute", "mpi4py"),
                                ("einops", "einops"), ("recipes", "keras"),
                                ("loading_files", "PIL"), ("dualflow.ops.image.decode", "PIL"),
                                ("dualflow.ops.image.encode", "PIL")]
            if importlib.util.find_spec(needs) is None]    # not installed
PAGES = ["README.md", *TOURS,
         *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md")
                 if p.name != "adding_an_op.md"         # its example needs the op it adds
                 and p.stem not in OPTIONAL)]

MODULES = ["dualflow", *sorted(
    m.name for m in pkgutil.walk_packages(df.__path__, "dualflow.")
    if "._core" not in m.name and m.name != "dualflow.tensorflow"   # binds a name of the process
    and not {m.name, m.name.split(".")[1]} & {*OPTIONAL})]
# The modules that users meet; internal modules need no examples.
PUBLIC = [m for m in MODULES
          if not m.startswith(("dualflow.ops", "dualflow.autodiff", "dualflow.graph.ir"))]

# These only re-export names.
NAMESPACES = [f"dualflow.{name}" for name in ("bitwise", "image", "linalg", "math", "nn",
                                              "random")]


def public_functions():
    found = {}
    for name in PUBLIC:
        module = importlib.import_module(name)
        passed_on = vars(module) if name in NAMESPACES else ()
        for public in getattr(module, "__all__", [n for n in passed_on if n[0] != "_"]):
            value = getattr(module, public)
            if inspect.isfunction(value) and value.__module__.startswith("dualflow"):
                found[f"{value.__module__}.{value.__name__}"] = value
    return found


FUNCTIONS = public_functions()


@pytest.fixture
def log_handlers():
    """Remove log handlers that an example adds: theirs write to a stream that the test closes."""
    before = logging.root.handlers[:]
    yield
    logging.root.handlers[:] = before


@pytest.mark.usefixtures("log_handlers")
@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_pages(page):
    if "compat" in page:
        df.compat.v1.reset_default_graph()      # other tests of the process use it as well
    result = doctest.testfile(str(ROOT / page), module_relative=False,
                              optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    assert result.attempted or page not in ("README.md", *TOURS)


def test_links_to_code():
    """Each name of one_op.md that links to a file is defined there, in Python, Cython or C. The
    links have no line numbers, which every edit above a definition would change."""
    page = (ROOT / "docs/one_op.md").read_text()
    links = guides.links(page)
    assert len(links) > 20 and "#L" not in page
    for name, path in links:
        source = (ROOT / "docs" / path).read_text()
        assert guides.defines(source, name), f"{path} does not define {name}"


@pytest.mark.parametrize("tour", TOURS)
def test_tours_stay_short(tour):
    assert len((ROOT / tour).read_text().splitlines()) < 100


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_documented(name):
    """The docstring has a summary, describes every argument, and has an example."""
    function = FUNCTIONS[name]
    doc = inspect.getdoc(function) or ""
    assert doc.strip(), f"{name}: no docstring"
    assert ">>>" in doc, f"{name}: no example"
    arguments = [p.name for p in inspect.signature(function).parameters.values()
                 if p.name != "name" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    silent = [a for a in arguments if not re.search(rf"\b{re.escape(a)}\b", doc)]
    assert not silent, f"{name}: does not describe {', '.join(silent)}"


LINKED = [*PAGES, *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs/tutorial").glob("*.md")),
          "docs/adding_an_op.md", "CHANGELOG.md", "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", LINKED)
def test_links_to_files_exist(page):
    """Check links and pictures that refer to files of the project."""
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / page).read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (ROOT / page).parent.joinpath(target).exists(), target


def test_table_of_passes():
    """docs/graph.md lists the passes in their order."""
    text = (ROOT / "docs/graph.md").read_text()
    table = text[text.index("## Passes"):text.index("A pass changes its graph")]
    assert re.findall(r"^    (\w+) ", table, re.M) == list(dict.fromkeys(
        [one.name for one in passes.PASSES]))
