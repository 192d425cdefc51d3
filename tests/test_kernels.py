"""Kernels of gemm, conv and attention against naive loops, at every SIMD level of this CPU."""

import pytest

from tests.built import objects
from tests.levels import skip_unless_available
from tests.test_c import ROOT, RUNTIME, VARIANTS, build, run

LEVELS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
}
# The csrc folders that each check is linked with.
FOLDERS = {"gemm": ["gemm"], "conv": ["conv"], "attention": ["attention"]}
UNSUPPORTED = 77
# Run by default. The other combinations need --exhaustive; sanitizer builds of the whole module
# cover them as well.
DEFAULT = {("gemm", "avx2", "plain")}


@pytest.mark.parametrize("variant", ["plain", "address"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FOLDERS)
def test_kernels(name, level, variant, tmp_path, request):
    if (name, level, variant) not in DEFAULT and not request.config.getoption("exhaustive"):
        pytest.skip("slow to compile: run with --exhaustive")
    skip_unless_available(level)        # the runtime itself starts with instructions of the level
    # Debug information of the unrolled kernels doubles the time to compile them.
    flags = [f for f in VARIANTS[variant] if f != "-g"]
    flags += [f"-DDF_ISA={level}", *LEVELS[level]]
    empty = tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    if build([empty], tmp_path / "empty", flags).returncode:
        pytest.skip(f"the compiler does not support {' '.join(flags)}")
    kernels = sorted(path for folder in FOLDERS[name]
                     for path in (ROOT / "csrc" / folder).glob("*.c"))
    runtime = RUNTIME
    if variant == "plain":      # the objects of the library itself, if it was built here
        kernels = objects(level, kernels) or kernels
        runtime = objects("common", runtime) or runtime
    program = tmp_path / name
    built = build([ROOT / f"tests/c/{name}_check.c", *kernels, *runtime], program, flags)
    assert built.returncode == 0, built.stderr
    ran = run([program])
    if ran.returncode == UNSUPPORTED:
        pytest.skip(f"this CPU cannot run {level}")
    assert ran.returncode == 0, ran.stderr
