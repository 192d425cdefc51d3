"""All of csrc joined into two sources compiles: no names clash, and no macro affects later files.
Every export is a subset of these sources."""

import re
import subprocess

import pytest

from dualflow._core import isa, ops
from dualflow.aot import amalgamation
from dualflow.aot.amalgamation import Joined, clashing, side
from dualflow.aot.builds import FLAGS, LEVELS
from dualflow.aot.csrc import read
from dualflow.aot.runtime import BUILT, reduced_kernels, runtime
from tests.aot.test_build import COMPILER, CROSS, needs_make, works

ALL = {"BOOL", "U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64",
       "C64", "C128"}
SOME = {"F32", "I64"}
LEVEL_FLAGS = {"baseline": "", "neon": "", **LEVELS}


def write(folder, dtypes):
    made = amalgamation.joined(runtime(set(ops()), dtypes, dtypes, folders=("file", "api")))
    for name, text in made.items():
        (folder / name).write_text(text)
    return made


def compiles(folder, source, *flags, compiler=COMPILER):
    made = subprocess.run([compiler, *FLAGS.split(), "-Werror", "-fsyntax-only", *flags, source],
                          cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert made.returncode == 0, made.stderr[:5000]


@needs_make
@pytest.mark.parametrize("dtypes", [ALL, SOME], ids=["all dtypes", "some dtypes"])
def test_two_sources_of_all_of_csrc_compile(tmp_path, dtypes):
    made = write(tmp_path, dtypes)
    compiles(tmp_path, "runtime.c")
    compiles(tmp_path, "kernels.c", f"-DDF_ISA={isa()}", *LEVEL_FLAGS[isa()].split())
    for name, text in made.items():
        assert len(text) < 2_500_000 and "#line" not in text
        headers = re.findall(r"^/\* =+ csrc/(\S+\.h) \*/$", text, re.M)
        once = [path for path in headers if amalgamation.is_shared(path)]
        assert len(once) == len(set(once)), name


@needs_make
@pytest.mark.soak
@pytest.mark.parametrize("level, compiler", [
    ("baseline", "gcc"), ("avx2", "gcc"), ("avx512", "gcc"), ("baseline", "clang"),
    ("avx2", "clang"), ("avx512", "clang"), ("neon", CROSS)])
def test_all_of_csrc_compiles_at_every_level(level, compiler, tmp_path):
    if not works(compiler):
        pytest.skip(f"{compiler} is not installed")
    write(tmp_path, ALL)
    compiles(tmp_path, "runtime.c", compiler=compiler)
    compiles(tmp_path, "runtime.c", "-DDF_NO_THREADS", compiler=compiler)
    compiles(tmp_path, "kernels.c", f"-DDF_ISA={level}", *LEVEL_FLAGS[level].split(),
             compiler=compiler)


def test_clashing_names_get_their_file_as_prefix():
    built = {BUILT: reduced_kernels(set(), SOME, SOME)}
    text = Joined(built, set()).text([path for path in side(True) if path.startswith("ops/")])
    assert "infer" in clashing(True).plain
    own = re.findall(r"^(?:static |DF_ONCE\()df_status,? (\w+)(?:, )?"
                     r"\(const df_call \*call, df_error \*err\)+\s*\{", text, re.M)
    assert "infer" not in own and "matmul_packed_infer" in own and len(own) == len(set(own))
    assert "infer_concat" in own
    assert ".infer = matmul_packed_infer," in text and "matmul_packed_infer =" not in text


@pytest.mark.parametrize("condition, holds", [
    ("DF_BUILT_U8", False), ("DF_BUILT_U8 || DF_BUILT_F32", True),
    ("!DF_BUILT_U8 && (DF_BUILT_F32 || DF_BUILT_U8)", True)])
def test_conditions_on_dtypes(condition, holds):
    built = {"DF_BUILT_U8": False, "DF_BUILT_F32": True}
    assert amalgamation.holds(condition, built) is holds


def test_kernels_of_unused_dtypes_are_omitted():
    def count(built):
        text = Joined({BUILT: built}, set()).text(["ops/elementwise/arithmetic.c"])
        return text.count("csrc/ops/elementwise/arithmetic_formulas.h */")

    assert count(read(BUILT)) == 10
    assert count(read(BUILT).replace("DF_BUILT_U16 1", "DF_BUILT_U16 0")) == 9
