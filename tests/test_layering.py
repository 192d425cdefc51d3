"""Imports and includes point to lower layers, files stay small, only records name ops."""

import ast
import builtins
import functools
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dualflow as df
from dualflow import errors
from dualflow._util.late_binding import late
from tests.for_each import for_each
from tests.syntax import nodes

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sorted((ROOT / "dualflow").rglob("*.py"))
CSRC = sorted(p for p in (ROOT / "csrc").rglob("*") if p.suffix in (".c", ".h"))
CYTHON = sorted((ROOT / "dualflow/_core").glob("*.p[yx][xid]"))

# Lowest layer first; modules of one layer may import each other.
LAYERS = [
    {"_util", "errors", "dtypes", "tracebacks"}, {"_core"},
    {"gradient_registry", "config", "memory", "trace_dependency", "nest"},
    {"ops"},
    {"autodiff"}, {"autograph"}, {"graph"},
    {"array_api", "math", "nn", "linalg", "image", "random", "bitwise", "optimizers",
     "quantization", "signal", "sparse", "summary", "test", "testing", "initializers",
     "experimental", "debugging", "modules", "lookup", "ragged", "sets", "transforms", "context",
     "strings", "version"},
    {"data", "io", "train", "saved_model", "aot", "distribute"}, {"onnx"},
    {"compat", "einops", "keras"}, {"tensorflow"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
GRAPH_LAYERS = ["ir", "trace", "passes", "program", "inspect", "reads", "calls"]   # lowest first

C_LAYERS = ["base", "special", "fourier", "tape", "simd", "op", "fuse", "gemm", "conv", "attention",
            "recurrent", "factor", "ops", "exec", "model", "file", "api"]
C_KERNELS = ["gemm", "conv", "attention", "recurrent", "factor", "ops"]


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


@pytest.fixture(scope="module", autouse=True)
def trees_are_dropped():
    """Drop the parsed files behind the last test: a million nodes slow down each collection."""
    yield
    parsed.cache_clear()


def name_of(path):
    return str(path.relative_to(ROOT))


def imports(tree):
    """Every dotted name of dualflow that a module imports."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module in ("dualflow", "dualflow.graph"):
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def part(path):
    """Return the part of the package that a file belongs to: dualflow/ops/array/shape.py -> ops."""
    return path.relative_to(ROOT / "dualflow").with_suffix("").parts[0]


@for_each(PYTHON, name_of)
def test_python_imports_only_lower_layers(path):
    tree = parsed(path)
    if part(path) == "__init__":
        return
    assert part(path) in LEVEL, f"{path.name}: add it to a layer in LAYERS"
    for name in imports(tree):
        words = name.split(".")
        if words[0] != "dualflow":
            continue
        if len(words) < 2:          # public names, defined in all lower layers
            assert LEVEL[part(path)] >= LEVEL["optimizers"], f"{path.name} imports all of dualflow"
            continue
        assert words[1] in LEVEL, f"{path.name} imports the name {name}, expected a module"
        assert LEVEL[words[1]] <= LEVEL[part(path)], f"{path.name} imports {name} of a higher layer"
        if words[1] == part(path) == "graph" and path.parent.name != "graph":
            package, own = words[2], path.relative_to(ROOT / "dualflow/graph").parts[0]
            assert GRAPH_LAYERS.index(package) <= GRAPH_LAYERS.index(own), f"{name}: higher layer"


def modules_in_strings(tree):
    """The names of modules of dualflow in string literals, whole or as the start of an f-string."""
    found = nodes(tree)
    docstrings = {id(node.body[0].value) for node in found
                  if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                  and node.body and isinstance(node.body[0], ast.Expr)}
    for node in found:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (
                id(node) not in docstrings) and re.fullmatch(r"dualflow(\.\w+)+\.?", node.value):
            yield node.value.rstrip(".")


@for_each(PYTHON, name_of)
def test_strings_name_no_module_of_a_higher_layer(path):
    """A module name that is passed to `import_module`, also through a constant, is an import. The
    functions of a higher layer that a lower layer calls are registered in `dualflow/__init__.py`
    (`_util/late_binding.py`)."""
    if part(path) == "__init__":
        return
    for name in modules_in_strings(parsed(path)):
        other = name.split(".")[1]
        if other in LEVEL:
            assert LEVEL[other] <= LEVEL[part(path)], f"{path.name} names {name}, which is above"
            if other == part(path) == "graph" and path.parent.name != "graph":
                package = name.split(".")[2]
                own = path.relative_to(ROOT / "dualflow/graph").parts[0]
                assert GRAPH_LAYERS.index(package) <= GRAPH_LAYERS.index(own), f"names {name}"


def test_a_module_name_in_a_string_is_found():
    tree = ast.parse('"""dualflow.graph"""\nX = "dualflow.graph.trace"\n'
                     'def f():\n    return import_module("dualflow.transforms").vmap\n')
    assert list(modules_in_strings(tree)) == ["dualflow.graph.trace", "dualflow.transforms"]


# Each import takes milliseconds, so functions that need one may import it.
SLOW_IMPORTS = {"numpy", "inspect", "difflib", "html", "dis", "opcode", "copy", "subprocess",
                "ctypes", "tarfile"}


@for_each(PYTHON, name_of)
def test_python_imports_are_absolute_and_at_module_level(path):
    tree = parsed(path)
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            assert all(a.name != "*" for a in node.names), f"line {node.lineno}: import *"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [n for n in nodes(node) if isinstance(n, ast.Import | ast.ImportFrom)]
            for n in inside:
                slow = isinstance(n, ast.Import) and n.names[0].name in SLOW_IMPORTS
                assert slow, f"line {n.lineno}: import inside a function"


def c_layer(path):
    """Return the layer of a C file: for csrc/ops/elementwise/cast.c the index of "ops" in
    C_LAYERS."""
    package = path.relative_to(ROOT / "csrc").parts[0]
    assert package in C_LAYERS, f"csrc/{package}: add it to C_LAYERS"
    return C_LAYERS.index(package)


@for_each(CSRC, name_of)
def test_c_includes_only_lower_layers(path):
    for included in re.findall(r'^\s*#\s*include\s+"([^"]+\.h)"', path.read_text(), re.M):
        target = ROOT / "csrc" / included
        assert target.exists(), f"{included}: write the path from csrc"
        assert c_layer(target) <= c_layer(path), f"{path.name} includes {included}: higher layer"


FORMULAS = [p for p in CSRC if p.stem.endswith("_formulas")]
SHARED = {"ops/elementwise/map.h", "ops/reduction/reduction.h", "ops/partial.h",
          "ops/nn/normalization_parts.h",   # loops that apply formulas of any family
          "conv/finish.h"}


@for_each(FORMULAS, name_of)
def test_formula_files_hold_no_op_records(path):
    text = path.read_text()
    assert "DF_OP(" not in text, "op records belong in the family's .c file"
    assert "#ifndef DTYPE" not in text and "#ifdef DTYPE" not in text, "split the two branches"
    users = [p for p in CSRC if f"{path.parent.name}/{path.name}" in p.read_text()
             and p.name != "formulas.h"]        # the formulas of all families
    assert len(users) == 1, "formulas belong to one family"
    assert path.stem.startswith(users[0].stem), f"name it after {users[0].name}, which includes it"


@for_each([p for p in CSRC if C_LAYERS[c_layer(p)] in C_KERNELS], name_of)
def test_only_formula_files_are_compiled_per_dtype(path):
    text = path.read_text()
    templates = re.findall(r'#define TEMPLATE "([^"]+)"', text)
    templates += re.findall(r'#define DTYPE .*(?:\n#.*)*?\n#include "([^"]+)"', text)
    for name in {*templates} - SHARED:
        assert name.endswith("_formulas.h"), f"{name}: compiled per dtype: name it *_formulas.h"


def test_c_sources_do_not_include_python():
    assert [p.name for p in CSRC if "Python.h" in p.read_text().replace("no Python.h", "")] == []


def test_error_classes_match_status_codes():
    """BY_STATUS matches df_status, and each class derives from the error in the enum's comment."""
    text = (ROOT / "csrc/base/status.h").read_text()
    enum = text[text.index("DF_OK = 0"):text.index("DF_N_STATUS")]
    names = re.findall(r"^\s*(DF_\w+)", enum, re.M)
    assert len(names) == len(errors.BY_STATUS)
    assert list(zip(names, errors.BY_STATUS, strict=True)) == [
        ("DF_OK", errors.DualflowError), ("DF_INVALID_ARGUMENT", errors.InvalidArgumentError),
        ("DF_BAD_SHAPE", errors.ShapeError), ("DF_BAD_DTYPE", errors.DTypeError),
        ("DF_OUT_OF_RANGE", errors.OutOfRangeError),
        ("DF_OUT_OF_MEMORY", errors.ResourceExhaustedError),
        ("DF_OVERFLOW", errors.SizeOverflowError),
        ("DF_UNIMPLEMENTED", errors.UnimplementedError), ("DF_CANCELLED", errors.CancelledError)]
    for name, promised in re.findall(r"(DF_\w+),\s*/\*[^*]*?(\w+Error) \*/", enum):
        assert issubclass(errors.BY_STATUS[names.index(name)], getattr(builtins, promised))


@for_each(PYTHON + CSRC + CYTHON, name_of)
def test_file_size(path):
    lines = path.read_text().splitlines()
    if path.suffix == ".pyi":           # the signatures of one extension module, a line each
        return
    # An __init__.py only imports names, one per line.
    limit = 400 if path.suffix == ".py" and path.name != "__init__.py" else 500
    assert len(lines) <= limit, f"{len(lines)} lines, at most {limit}: split by concept"


@for_each(PYTHON + CSRC + CYTHON, name_of)
def test_line_length(path):
    lines = path.read_text().splitlines()
    long = [i for i, line in enumerate(lines, 1) if len(line) > 100]
    assert not long, f"lines of more than 100 columns: {long}"


def op_names():
    return re.findall(r"^OP\((\w+)\)", (ROOT / "csrc/op/ops.def").read_text(), re.M)


def test_ops_def_lists_ops_under_their_files():
    text = (ROOT / "csrc/op/ops.def").read_text()
    for file, lines in re.findall(r"/\* (\w+/\w+\.c) \*/\n((?:OP\(\w+\)\n)+)", text):
        records = re.findall(r"^DF_OP\((\w+)\)", (ROOT / "csrc/ops" / file).read_text(), re.M)
        assert set(re.findall(r"OP\((\w+)\)", lines)) == set(records), file


@for_each(CSRC, name_of)
def test_c_code_compares_no_op_names(path):
    """The name of an op appears in its record and is never compared with."""
    for line in path.read_text().splitlines():
        if re.search(r"\bstrn?cmp\s*\(", line):
            assert not re.search(rf'"(?:{"|".join(op_names())})"', line), line
        assert not re.search(r"->op\s*==|case\s+DF_OP", line), line


@for_each(CYTHON, name_of)
def test_cython_code_compares_no_op_names(path):
    """Operators apply ops by name; no branch depends on a name."""
    pattern = rf'(?:[!=]=|\bin)\s*\(?\s*"(?:{"|".join(op_names())})"'
    assert not re.search(pattern, path.read_text())


PASSES = sorted((ROOT / "dualflow/graph/passes").glob("*.py"))


@for_each(PASSES, name_of)
def test_passes_look_up_op_names_at_import_only(path):
    """Op names occur only where a pass looks up its handles on import; no function looks up or
    contains one."""
    names = set(op_names())
    for f in nodes(parsed(path)):
        if not isinstance(f, ast.FunctionDef | ast.Lambda):
            continue
        for node in [n for part in (f.body if isinstance(f.body, list) else [f.body])
                     for n in nodes(part)]:
            held = isinstance(node, ast.Constant) and node.value in names
            read = isinstance(node, ast.Attribute) and (
                node.attr == "type" or (node.attr == "name" and "op" in ast.unparse(node.value)
                                        .lower().split(".")))
            assert not held and not read, f"line {node.lineno}: {ast.unparse(node)}"


# Expensive standard modules: typing takes as long as everything else an eager program loads.
DEAR = {"typing", "re", "enum", "pickle", "threading", "contextlib", "inspect", "dataclasses",
        "copy", "numpy"}


def loaded_by(code):
    """Return the modules that a program loads in an isolated interpreter without site."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}; print(*sys.modules)"
    made = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True,
                          check=True)
    return set(made.stdout.split())


def test_import_loads_only_the_core():
    loaded = loaded_by("import dualflow")
    assert {name for name in loaded if name.startswith("dualflow")} == {
        "dualflow", "dualflow._core", "dualflow._core._core", "dualflow._util.arguments",
        "dualflow._util", "dualflow._util.imports", "dualflow._util.late_binding",
        "dualflow.dtypes", "dualflow.errors",
        "dualflow._util.frames"}
    assert not loaded & {*DEAR, "collections", "functools"}


@pytest.mark.parametrize("code", [
    "import dualflow as df; df.add(1., 2.) + df.Variable(3.)",
    "import dualflow as df; df.nn.relu(df.random.normal([2])).sum()",
    "import dualflow as df; df.GradientTape; df.math; df.nest; df.image; df.testing",
])
def test_eager_programs_load_no_expensive_modules(code):
    assert not loaded_by(code) & DEAR


FIRST_STEP = """
import dualflow as df
w, b = df.Variable(df.ones([4, 3])), df.Variable(df.zeros([3]))

@df.function
def step(x, y):
    with df.GradientTape() as tape:
        loss = df.reduce_mean((df.nn.relu(df.matmul(x, w) + b) - y) ** 2)
    gw, gb = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * gw)
    b.assign_sub(0.1 * gb)
    return loss

print(step(df.ones([8, 4]), df.zeros([8, 3])))
"""
MODULES_OF_FIRST_STEP = 136             # limit; each takes about 0.15 ms to load


def test_first_traced_step_loads_few_modules():
    """A module that many first steps do not need is loaded at the first use. If this test fails,
    look for an import that can be avoided."""
    loaded = loaded_by(FIRST_STEP + "import sys")
    assert not loaded & DEAR
    assert len([name for name in loaded if name.startswith("dualflow")]) <= MODULES_OF_FIRST_STEP
    assert not {name for name in loaded if name.startswith((
        "dualflow.autograph", "dualflow.ops.nn.", "dualflow.ops.random.", "dualflow.ops.conv",
        "dualflow.autodiff.f", "dualflow.autodiff.gradient_rules", "dualflow.graph.trace.control",
        "dualflow.graph.calls.differentiate", "dualflow.graph.inspect.draw"))}


@pytest.mark.parametrize("trainable", [False, True])
def test_loaded_onnx_models_load_no_expensive_modules(tmp_path, trainable):
    """NumPy is loaded by models with operators on sizes only."""
    w = df.Variable(df.ones([3, 3, 2, 3]))

    def f(x):
        y = df.nn.relu(df.nn.convolution(x, w, padding="SAME", data_format="NCHW"))
        return df.nn.softmax(df.reduce_mean(y, [2, 3]))

    path = str(tmp_path / "model.onnx")
    df.onnx.save(f, path, df.TensorSpec([None, 2, 8, 8]))
    loaded = loaded_by(f"import dualflow as df; f = df.onnx.load({path!r}, trainable={trainable}); "
                       "f(df.ones([1, 2, 8, 8])); import sys")
    assert loaded & {*DEAR, "dis"} <= {"copy"}


def test_one_module_imports_every_gradient_rule():
    rules = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p in PYTHON
             if re.search(r"^(@gradient|no_gradient)\(", p.read_text(), re.M)}
    assert "dualflow.ops.elementwise.arithmetic" in rules
    assert rules <= loaded_by("import dualflow.autodiff.gradient_rules")


def test_rules_of_ops_without_their_functions_are_loaded_by_the_first_record():
    """The op of an imported program is applied by its name."""
    code = """
import dualflow as df
from dualflow import _core

def undecided():
    ops = map(_core.get_op, _core.ops())
    return [op.name for op in ops if op.rule is None and op.why_no_gradient is None]

x = df.Variable([0.25, 0.5])
unloaded = undecided()
assert {"sinh", "softmax"} <= {*unloaded}, unloaded
with df.GradientTape() as tape:
    y = x * x
assert undecided() == unloaded
with df.GradientTape() as tape:
    y = _core.apply("sinh", x)
assert tape.gradient(y, x).tolist() == df.cosh(x).tolist()
assert not {"sinh", "softmax"} & {*undecided()}
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_modules_of_ops_are_attributes_of_their_packages():
    code = """
import dualflow as df
assert df.ops.elementwise.hyperbolic.tanh is df.tanh
assert df.ops.indexing.__name__ == "dualflow.ops.indexing" and df.ops.indexing.gather.gather
assert df.ops.image.resize.__name__ == "dualflow.ops.image.resize"
assert not hasattr(df.ops.image, "rotate") and not hasattr(df.ops, "vision")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_lazy_names_are_thread_safe():
    code = """
import sys, threading
import dualflow as df
sys.setswitchinterval(1e-6)
names = [name for name, home in df._HOMES.items() if home.startswith("ops")]
names += ["GradientTape", "autodiff", "image", "linalg", "math", "nn", "optimizers", "random",
          "debugging", "assert_equal"]
go, failed = threading.Event(), []

def use(name):
    go.wait()
    try:
        getattr(df, name)
    except Exception as error:
        failed.append(f"{name}: {error!r}")

threads = [threading.Thread(target=use, args=(name,)) for name in reversed(names)]
for thread in threads:
    thread.start()
go.set()
for thread in threads:
    thread.join()
sys.exit("; ".join(failed) or 0)
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("made", ["df.constant([1., 2.])", "df.Variable([1., 2.])",
                                  "df.from_dlpack(memory())", "pickle.loads(stored)"])
def test_new_tensors_have_their_methods(made):
    stored = pickle.dumps(df.constant([1., 2.]))
    code = f"""
import pickle
import dualflow as df
stored = {stored!r}

def memory():
    import numpy
    return numpy.array([1., 2.], "float32")

x = {made}
assert x.sum().item() == 3. and "Tensor" in repr(x.copy()), x
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def dependencies():
    """Return the modules of the package that each module imports when it is loaded."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
             for path in PYTHON}
    found = {}
    for name, path in paths.items():
        tree = parsed(path)
        below = nodes(tree)
        skipped = {id(inner) for node in below if isinstance(node, ast.If)
                   and ast.unparse(node.test) == "TYPE_CHECKING" for inner in nodes(node)}
        used = set()
        for node in below:
            if id(node) in skipped:
                continue
            if isinstance(node, ast.ImportFrom):
                used |= {full if (full := f"{node.module}.{a.name}") in paths else node.module
                         for a in node.names}
            elif isinstance(node, ast.Import):
                used |= {a.name for a in node.names}
        found[name] = (used & paths.keys()) - {name}
    return found


def cycles(graph):
    """Return the strongly connected components of more than one node (Tarjan, 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph[v]:
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            component = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(component) > 1:
                found.append(sorted(component))

    for v in graph:
        if v not in index:
            visit(v)
    return found


def test_python_modules_form_no_cycle():
    assert cycles(dependencies()) == []


def c_functions(path):
    """Return the external functions and tables of a C file, and the names its code uses."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", path.read_text(), flags=re.S)
    defined = re.findall(r"^(?!static\b)(?:[a-z]\w*[ *]+)+\**(df_\w+)\([^;{]*\)\s*\{", text, re.M)
    defined += re.findall(r"^(?!static\b|extern\b|typedef\b)[a-z][\w ]* \**(df_\w+)"
                          r"(?:\[[^\]]*\])?\s*=", text, re.M)
    return set(defined), set(re.findall(r"\bdf_\w+", text))


def test_c_files_form_no_cycle():
    """No C file calls a file that calls it back; callbacks through pointers are no calls."""
    files = {name_of(path): c_functions(path) for path in CSRC if path.suffix == ".c"}
    home = {name: file for file, (defined, _) in files.items() for name in defined}
    graph = {file: {home[name] for name in used if name in home} - {file}
             for file, (_, used) in files.items()}
    assert cycles(graph) == []


def test_a_cycle_is_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_registered_functions_exist():
    for name in ("array_api", "cluster_compiler", "compile_backward", "draw", "eval_shape",
                 "string_tensor", "vmap"):
        assert late(name) is not None
    assert late("vmap") is df.vmap
