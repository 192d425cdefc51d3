"""The site in docs/ is complete and builds without warnings or broken links."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
TOCTREE = re.compile(r"^```\{toctree\}\n((?::.*\n)*)((?:.*\n)*?)```", re.M)


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"ext/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_a_toctree():
    """Every page is reachable from the start page by tables of contents."""
    reached, queue = set(), [DOCS / "index.md"]
    while queue:
        page = queue.pop()
        reached.add(page)
        for _, entries in TOCTREE.findall(page.read_text()):
            queue += [page.parent / f"{entry}.md" for entry in entries.split()]
    assert reached == set(PAGES)


def test_every_public_name_has_an_entry():
    names = loaded("names")
    shown = names.documented(DOCS / "api")
    assert len(shown) == len(set(shown))
    found = names.entries()
    assert set(shown) <= set(found), "{api} names a module that defines public names"
    missing = {module: [entry.name for entry in entries]
               for module, entries in found.items() if module not in shown}
    assert not missing, "write ```{api} and the module on a page of docs/api"


def test_entries_use_the_shortest_name():
    found = {entry.name: entry for group in loaded("names").entries().values() for entry in group}
    assert found["dualflow.tanh"].others == ["dualflow.nn.tanh", "dualflow.math.tanh"]
    assert found["dualflow.nn.softmax"].others == ["dualflow.math.softmax"]
    assert found["dualflow.nn.relu"].kind == "function"
    assert found["dualflow.Tensor"].kind == found["dualflow.errors.ShapeError"].kind == "class"


def test_pictures_are_small():
    text = (DOCS / "gallery.md").read_text()
    shown = set(re.findall(r":img-bottom: (\S+)", text))
    assert shown == {str(p.relative_to(DOCS)) for p in (DOCS / "gallery").iterdir()}
    assert all((DOCS / picture).stat().st_size < 50_000 for picture in shown)


def test_links_of_included_pages_are_rewritten():
    pages = loaded("pages")
    text = ("[a](docs/ir.md#b) [c](LICENSE) [d](examples/eager_tour.md) [e](https://f.g) ![h](i)\n"
            "```python\n[j](LICENSE)\n\n```\n")
    assert pages.relinked(text, ROOT, DOCS / "api") == (
        "[a](../ir.md#b) `c` [d](../eager_tour.md) [e](https://f.g) ![h](i)\n"
        "```python\n[j](LICENSE)\n```\n")


def broken(site):
    """Yield links between files of a site whose file or anchor does not exist.

    Source pages are skipped: their links back use names that are not public.
    """
    texts = {page: page.read_text() for page in site.rglob("*.html")}
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        if "_modules" in page.parts:
            continue
        for target in set(re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            path, _, anchor = target.replace("&amp;", "&").partition("#")
            if re.match(r"\w+:|//", path):
                continue
            leads = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not leads.exists() or (anchor and leads in ids and anchor not in ids[leads]):
                yield f"{page.relative_to(site)}: {target}"


@pytest.mark.soak
def test_build(tmp_path):
    """Warnings are errors; links and anchors within the site are checked without a network."""
    for package in ["sphinx", "furo", "myst_parser", "numpydoc", "sphinx_copybutton",
                    "sphinx_design"]:
        pytest.importorskip(package)
    site = tmp_path / "site"
    made = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto",
                           "-d", tmp_path / "doctrees", DOCS, site], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert not list(broken(site))
    entries = (site / "api/nn.html").read_text()
    assert 'id="dualflow.nn.relu"' in entries
    assert "_modules/dualflow/ops/elementwise/relu.html" in entries
    page = (site / "from_numpy.html").read_text()
    assert 'href="api/reduce.html#dualflow.reduce_sum"' in page
