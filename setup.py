"""Build csrc once per SIMD level and link everything into one extension module.

Metadata is in pyproject.toml. Options of ``build_ext`` for developers::

    python setup.py build_ext --inplace --isa avx512   # one level in addition to the baseline
    DUALFLOW_LEVELS=all pip install -e .               # all levels; by default the best of this CPU
    python setup.py build --build-lib build/sanitized build_ext --sanitize address,undefined
    python setup.py build_ext --inplace --checks       # every Cython run-time check on
"""

import lzma
import os
import platform
import shutil
import sysconfig
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

CSRC = Path("csrc")
# Folders compiled per SIMD level.
KERNELS = ["ops", "gemm", "conv", "attention", "recurrent", "factor"]
PER_ISA = [CSRC / "op/table.c", CSRC / "fuse/run.c",
           *sorted(path for name in KERNELS for path in CSRC.glob(f"{name}/**/*.c"))]
COMMON = sorted({*CSRC.glob("*/*.c")} - {*PER_ISA})
CYTHON_SUFFIXES = {".pyx", ".pxd", ".pxi"}
REGISTRY = CSRC / "op/registry.c"   # lists the levels of a build
FLAGS = ["-O3", "-std=gnu11", "-fwrapv", "-ffp-contract=off", "-fno-math-errno",
         "-fno-trapping-math", "-fvisibility=hidden", "-Wall", "-Wextra", "-I", str(CSRC)]
# Disables optimisations that enlarge the code without making it faster, except in gemm/, where they
# speed up small products, dominated by loop remainders. Files in LEAN unroll their loops
# themselves, or have no loops that -O3 makes faster: they are compiled with -O2. Flags that the
# compiler does not accept are omitted.
SLIM = ["-fno-split-loops", "-fno-split-paths", "-fno-ipa-cp-clone",
        "--param=vect-epilogues-nomask=0"]
LEAN = [CSRC / "gemm/kernel.c", CSRC / "gemm/quantized.c", CSRC / "attention/attention.c",
        *[CSRC / f"conv/{name}.c" for name in (
            "conv", "depthwise", "filter", "forward", "image", "input", "regions",
            "tap_runs")],
        CSRC / "ops/array/slicing.c", CSRC / "ops/conv/geometry.c", CSRC / "ops/epilogue.c",
        CSRC / "ops/nn/ctc.c", CSRC / "ops/nn/recurrent.c",
        *CSRC.glob("factor/*.c"),
        *CSRC.glob("ops/control_flow/*.c"), *CSRC.glob("ops/linalg/*.c"),
        *CSRC.glob("ops/quantization/*.c"),
        *CSRC.glob("ops/indexing/*.c"),
        *[CSRC / f"ops/elementwise/{name}.c" for name in (
            "cast", "complex_math", "gamma")],
        CSRC / "ops/nn/batch_norm.c",
        CSRC / "ops/reduction/cumulative.c", CSRC / "ops/reduction/reduce_arg.c",
        CSRC / "ops/sorting/count.c",
        *CSRC.glob("ops/state/*.c")]
# Compiled with -O2: their time is that of loops of intrinsics that they unroll themselves.
PLAIN = [CSRC / "conv/integers.c", CSRC / "factor/complex_blocks.c", CSRC / "gemm/bytes.c",
         CSRC / "gemm/complex_products.c", CSRC / "gemm/gemv_bytes.c",
         CSRC / "ops/conv/convolution_int32.c", CSRC / "ops/signal/fourier.c"]
# The baseline level is for CPUs older than 2013 and for emulators. There, convolutions are compiled
# with -O2, which makes them no slower, and files that take at most a fifth longer if they are
# compiled for size, so that a wheel is 80 kB smaller. The files ops/nn/c*.c (ctc) exist only there.
LEAN_AT_BASELINE = [*CSRC.glob("conv/*.c")]
SMALL_AT_BASELINE = [
    CSRC / "attention/attention.c", CSRC / "conv/depthwise.c", CSRC / "conv/integers.c",
    CSRC / "gemm/quantized.c", CSRC / "recurrent/recurrent.c", CSRC / "ops/state/optimizer.c",
    *CSRC.glob("ops/conv/*.c"), *CSRC.glob("ops/nn/[!c]*.c"), *CSRC.glob("ops/random/*.c"),
    CSRC / "factor/complex_blocks.c", CSRC / "ops/signal/fourier.c",
    *[CSRC / f"ops/{name}.c" for name in (
        "elementwise/activation", "elementwise/complex_math", "elementwise/exponential",
        "elementwise/hyperbolic", "elementwise/trigonometric", "reduction/reduce",
        "reduction/reduce_arg")]]
LESS = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", *SLIM]
# With -fipa-ra GCC leaves out `vzeroupper` around calls of static functions. SSE code, such as
# Python's, is slow while the upper halves of registers are in use: a sum of 31 numbers takes 0.8 us
# instead of 0.3. Other files do not gain, and become larger without -fipa-ra.
CLEAN, CLEANED = ["-fno-ipa-ra"], [CSRC / "ops/reduction/reduce.c"]
# Dispatch executes 1 % more instructions than with -O2, which compiles Cython's C twice as long.
GLUE_FLAGS = ["-O1", "-Wno-unused-parameter", "-Wno-sign-compare", "-Wno-unused-function"]
# CFLAGS=-g retains debug information, which doubles the size of the wheel.
DEBUG = "-g" in os.environ.get("CFLAGS", "").split()
FLAGS += [] if DEBUG else ["-g0", "-fno-asynchronous-unwind-tables"]
STRIP = ["-Wl,-s"] if platform.system() == "Linux" and not DEBUG else []

# Flags of each level, most portable first. A level is omitted if the compiler rejects its flags.
ISA_LEVELS = {
    "x86_64": {
        "baseline": [],
        "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi2"],
        "avx512": ["-mavx2", "-mfma", "-mf16c", "-mbmi2", "-mavx512f", "-mavx512bw", "-mavx512dq",
                   "-mavx512vl", "-mprefer-vector-width=512"],
    },
    "aarch64": {"baseline": [], "neon": []},
}
MACHINE = sysconfig.get_platform().rpartition("-")[2]       # the target when cross-compiling
MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(MACHINE, MACHINE)

# Programs that must compile, in this order, and the requirement that each tests.
NEEDS = {
    "int probe(void) { return 0; }": "a C compiler that works",
    "#include <stdlib.h>": "the headers of the C library",
    "#include <Python.h>": "the headers of Python",
}
INSTALL = """
    Debian, Ubuntu    apt-get install gcc libc6-dev python3-dev
    Fedora, RHEL      dnf install gcc glibc-devel python3-devel
    Alpine            apk add gcc musl-dev linux-headers python3-dev
    macOS             xcode-select --install
or name a gcc or clang in the environment: CC=clang pip install ."""


def stale(obj: Path) -> bool:
    """Return True if an object is older than one of its sources (its .d file lists them)."""
    deps = obj.with_suffix(".d")
    if not obj.exists() or not deps.exists():
        return True
    names = deps.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    built = obj.stat().st_mtime
    return any(not os.path.exists(n) or os.path.getmtime(n) > built for n in names)


def write_archive(target: Path):
    """Write the C sources to a tar file, without owners and times. xz makes it 343 kB; in a
    wheel the uncompressed file would take 437 kB, and separate files 585 kB."""
    with tarfile.open(target, "w:xz", format=tarfile.USTAR_FORMAT,
                      preset=9 | lzma.PRESET_EXTREME) as archive:
        for path in sorted([*CSRC.glob("*/*.[ch]"), *CSRC.glob("ops/*/*.[ch]"),
                            *CSRC.glob("*/*.def")]):
            entry = tarfile.TarInfo(path.relative_to(CSRC).as_posix())
            entry.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(entry, file)


class BuildPy(build_py):
    """Adds the C sources, which exports need, to the package as csrc.tar.xz; a checkout uses csrc/
    directly."""

    def run(self):
        super().run()
        if not self.editable_mode:
            write_archive(Path(self.build_lib, "dualflow/csrc.tar.xz"))


class BuildExt(build_ext):
    user_options = build_ext.user_options + [
        ("isa=", None, "SIMD levels to build with the baseline (comma separated; default all)"),
        ("sanitize=", None, "sanitizers, e.g. address,undefined"),
        ("checks", None, "turn every Cython run-time check on"),
    ]
    boolean_options = build_ext.boolean_options + ["checks"]

    def initialize_options(self):
        super().initialize_options()
        self.isa = self.sanitize = None
        self.checks = False

    def finalize_options(self):
        checked = bool(self.checks)
        self.translate({
            "language_level": 3, "embedsignature": True, "binding": True,
            # Cython's generated __setstate__ accepts any tuple.
            "auto_pickle": False,
            "boundscheck": checked, "wraparound": checked, "cdivision": not checked,
            "initializedcheck": checked, "nonecheck": checked, "overflowcheck": checked,
        })
        super().finalize_options()

    def translate(self, directives):
        """Translate the Cython module to C, if a source, Cython or a directive has changed.

        `cythonize` would do so in every build by pip: it also compares the times of Cython's own
        files, which pip installs again for each build.
        """
        from Cython import __version__
        from Cython.Build import cythonize

        (ext,) = self.distribution.ext_modules
        target = Path(ext.sources[0]).with_suffix(".c")
        signature, settings = Path("build/objects/cython"), repr((__version__, directives))
        sources = [path for path in target.parent.iterdir() if path.suffix in CYTHON_SUFFIXES]
        if target.exists() and signature.exists() and signature.read_text() == settings and \
                all(path.stat().st_mtime < target.stat().st_mtime for path in sources):
            ext.sources = [str(target)]
            return
        self.distribution.ext_modules = cythonize([ext], compiler_directives=directives, force=True)
        signature.parent.mkdir(parents=True, exist_ok=True)
        signature.write_text(settings)

    def build_extension(self, ext):
        root = self.object_folder()
        self.look_for_compiler(root)
        sanitize = [f"-fsanitize={self.sanitize}", "-fno-omit-frame-pointer", "-O1",
                    "-fno-sanitize-recover=undefined"] if self.sanitize else []
        levels = self.levels(root)
        slim, less, clean = [[flag for flag in flags if self.accepts(root, ["-Werror", flag])]
                             for flags in (SLIM, LESS, CLEAN)]
        have = [(f"DF_HAVE_{isa.upper()}", None) for isa in levels if isa != "baseline"]
        have += [] if "baseline" in levels else [("DF_WITHOUT_BASELINE", None)]
        # The level that contains the functions marked DF_ONCE.
        first = {isa: [("DF_FIRST_LEVEL", str(int(isa == next(iter(levels)))))]
                 if len(levels) > 1 else [] for isa in levels}
        frames = [("DF_CORE_FRAMES", None)] if self.checks else []
        glue = root / f"glue-{sysconfig.get_config_var('SOABI')}"
        jobs = [(Path(src), glue, [*FLAGS, *slim, *GLUE_FLAGS, *sanitize], frames)
                for src in ext.sources]
        jobs += [(src, root / "common", FLAGS + slim + sanitize, have if src == REGISTRY else [])
                 for src in COMMON]
        for src in PER_ISA:
            usual = (["-O2"] if src in PLAIN else less if src in LEAN else
                     [] if src.parent.name == "gemm" else slim)
            for isa, flags in levels.items():
                lean = usual if isa != "baseline" else (
                    ["-Os"] if src in SMALL_AT_BASELINE else
                    less if src in LEAN_AT_BASELINE else usual)
                lean = lean + clean if isa != "baseline" and src in CLEANED else lean
                jobs.append((src, root / isa, FLAGS + lean + flags + sanitize,
                             [("DF_ISA", isa), *first[isa]]))
        with ThreadPoolExecutor(self.parallel or os.cpu_count() or 1) as pool:
            objects = list(pool.map(lambda job: self.compile_one(*job), jobs))
        # setuptools only links, if an object is newer than the module.
        ext.sources, ext.depends, ext.extra_objects = [], objects, objects
        ext.extra_link_args = ["-pthread", "-lm", *(sanitize[:1] or STRIP)]
        super().build_extension(ext)

    def object_folder(self):
        """Return the folder of the objects. It is in the source tree: pip builds in a new temporary
        folder each time, and would compile everything again."""
        kind = self.sanitize.replace(",", "-") if self.sanitize else "plain"
        root = Path("build/objects", sysconfig.get_platform(), kind)
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError:                 # a source tree that is read-only
            return Path(self.build_temp, kind)
        return root

    def levels(self, root):
        """Return the levels to build, by default all. An editable install is used on the machine
        that builds it, so it has only the best level of this CPU."""
        known = ISA_LEVELS.get(MACHINE, {"baseline": []})
        wanted = self.isa.split(",") if self.isa else known
        usable = {isa: flags for isa, flags in known.items()
                  if isa == "baseline" or (isa in wanted and self.accepts(root, flags))}
        choice = os.environ.get("DUALFLOW_LEVELS", "")
        if choice not in ("", "all"):
            raise SystemExit(f"DUALFLOW_LEVELS={choice}: expected all or nothing")
        if self.editable_mode and not choice:
            native = [isa for isa, flags in usable.items() if self.has_cpu(root, flags)]
            usable = {isa: usable[isa] for isa in native[-1:] or usable}
        return usable

    def has_cpu(self, root, flags):
        """Return True if this CPU has the instructions that `flags` allow, as far as the compiler
        can tell."""
        names = [f"__{flag.removeprefix('-m').upper()}__" for flag in flags if "=" not in flag
                 and not flag.startswith("-mprefer")]
        code = "\n".join(f"#ifndef {name}\n#error\n#endif" for name in names)
        return platform.machine() == MACHINE and self.accepts(root, ["-march=native"],
                                                              f"{code}\nint probe;")

    def look_for_compiler(self, root):
        """Exit with installation instructions if the compiler or a header is missing."""
        command = self.compiler.compiler_so[0]
        if shutil.which(command) is None:
            raise SystemExit(f"dualflow is built by a C compiler, and there is no {command} here. "
                             f"To install one:\n{INSTALL}")
        for code, what in NEEDS.items():
            if not self.accepts(root, [], code):
                raise SystemExit(f"dualflow is built by a C compiler, and {command} lacks {what}. "
                                 f"To install:\n{INSTALL}")

    def accepts(self, root, flags, code="int probe(void) { return 0; }"):
        from setuptools.errors import CompileError

        probe = root / "probe.c"
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text(code + "\n")
        try:
            self.compiler.compile([str(probe)], output_dir=str(root), extra_postargs=flags,
                                  include_dirs=self.include_dirs)
        except CompileError:
            return False
        return True

    def compile_one(self, source, output_dir, flags, macros):
        """Compile one object per (source, level); each level has its own folder."""
        obj = (output_dir / source).with_suffix(".o")
        signature = obj.with_suffix(".flags")
        command = repr((self.compiler.compiler_so, flags, macros))
        if stale(obj) or not signature.exists() or signature.read_text() != command:
            self.compiler.compile([str(source)], output_dir=str(output_dir), macros=macros,
                                  extra_postargs=[*flags, "-MMD", "-MF",
                                                  str(obj.with_suffix(".d"))])
            signature.write_text(command)
        return str(obj)


setup(
    ext_modules=[Extension("dualflow._core._core", ["dualflow/_core/_core.pyx"],
                           depends=[str(p) for p in Path("dualflow/_core").glob("*.p[x]*")]
                           + [str(p) for p in CSRC.glob("**/*.h")])],
    cmdclass={"build_ext": BuildExt, "build_py": BuildPy},
)
