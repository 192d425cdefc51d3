"""Matrix products of csrc/gemm against a plain loop, at every SIMD level this CPU has."""

import pytest

from tests.test_c import ROOT, RUNTIME, VARIANTS, build, run

LEVELS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
}
UNSUPPORTED = 77
SLOW = {("baseline", "address"), ("avx512", "address")}     # avx2 has the same loops


@pytest.mark.parametrize("variant", ["plain", "address"])
@pytest.mark.parametrize("level", LEVELS)
def test_gemm(level, variant, tmp_path, request):
    if (level, variant) in SLOW and not request.config.getoption("exhaustive"):
        pytest.skip("compiles long: run with --exhaustive")
    # Debug information of the unrolled kernels doubles the time to compile them.
    flags = [f for f in VARIANTS[variant] if f != "-g"]
    flags += [f"-DDF_ISA={level}", *LEVELS[level]]
    empty = tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    if build([empty], tmp_path / "empty", flags).returncode:
        pytest.skip(f"the compiler knows no {' '.join(flags)}")
    kernels = sorted((ROOT / "csrc/gemm").glob("*.c"))
    program = tmp_path / "gemm"
    built = build([ROOT / "tests/c/gemm_check.c", *kernels, *RUNTIME], program, flags)
    assert built.returncode == 0, built.stderr
    ran = run([program])
    if ran.returncode == UNSUPPORTED:
        pytest.skip(f"this CPU cannot run {level}")
    assert ran.returncode == 0, ran.stderr
