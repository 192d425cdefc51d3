"""The build files of an exported model: its Makefile and CMakeLists.txt."""

# Compiler flags of each SIMD level of x86-64, as in setup.py; other levels need none.
LEVELS = {
    "avx2": "-mavx2 -mfma -mf16c -mbmi2",
    "avx512": "-mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl "
              "-mprefer-vector-width=512",
}
KERNEL_FLAGS = "-fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math"
FLAGS = (f"-std=c11 -D_GNU_SOURCE -Wall -Wextra {KERNEL_FLAGS} -ffunction-sections "
         "-fdata-sections -fno-asynchronous-unwind-tables")

HEAD = """\
#   CC       gcc 11 or later, clang; for glibc or musl
#   OPT      optimisation flags: -O3, -Os
#   THREADS  0: kernels run only on the caller's thread
#   LEVELS   SIMD levels; the best one that the CPU supports is chosen when a program starts:
#            baseline, avx2 and avx512 on x86-64, neon on aarch64. Programs and recorded runs are
#            for {level}; results of other levels differ in the last bits.
OPT = -O3
THREADS = 1
AR = ar
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
ifeq ($(MACHINE),{machine})
LEVELS = {level}
else ifeq ($(MACHINE),aarch64)
LEVELS = neon
else
LEVELS = baseline
endif

FLAGS = {flags}
FLAGS_avx2 = {avx2}
FLAGS_avx512 = {avx512}
HAVE = $(if $(filter baseline,$(LEVELS)),,-DDF_WITHOUT_BASELINE) \\
    $(if $(filter neon,$(LEVELS)),-DDF_HAVE_NEON) \\
    $(if $(filter avx2,$(LEVELS)),-DDF_HAVE_AVX2) $(if $(filter avx512,$(LEVELS)),-DDF_HAVE_AVX512)
ifeq ($(THREADS),0)
FLAGS += -DDF_NO_THREADS
else
FLAGS += -pthread
endif
COMPILE = $(CC) $(FLAGS) $(OPT) $(CFLAGS) -I.

OBJECTS = {own} build/runtime.o {each}
"""

CHECK = """
.PHONY: check
check: build/check
\tcp weights.safetensors build/
\t$(RUN) build/check

build/check: build/check.o {library}
\t$(CC) $(FLAGS) $(OPT) $(CFLAGS) $(LDFLAGS) -Wl,--gc-sections $^ -lm -o $@

build/check.o: check.c build/flags Makefile {header}
\t$(COMPILE) -DSAME_LEVEL=$(if $(filter {level},$(LEVELS)),1,0) -c $< -o $@
"""

LIBRARY = """
{library}: $(OBJECTS)
\trm -f $@
\t$(AR) rcs $@ $^

# Rebuild if the flags have changed.
$(shell mkdir -p build; echo '$(COMPILE) $(LEVELS)' | cmp -s - build/flags || \\
    echo '$(COMPILE) $(LEVELS)' > build/flags)
$(OBJECTS): build/flags Makefile {header} runtime.h

define kernel
build/$(1)/%.o: %.c
\t@mkdir -p $$(@D)
\t$$(COMPILE) $$(FLAGS_$(1)) -DDF_ISA=$(1) -c $$< -o $$@
endef
$(foreach level,$(LEVELS),$(eval $(call kernel,$(level))))

build/%.o: %.c
\t@mkdir -p $(@D)
\t$(COMPILE) $(HAVE) -c $< -o $@

.PHONY: clean
clean:
\trm -rf build {library}
"""

CMAKE = """\
# The library `{prefix}` and its test, `check`. LEVELS: SIMD levels; the best one that the CPU
# supports is chosen when a program starts. THREADS=OFF: kernels run only on the caller's thread.
cmake_minimum_required(VERSION 3.16)
project({prefix} C)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
option(THREADS "Kernels use threads" ON)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^({machines})$")
  set(default_levels {level})
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(default_levels neon)
else()
  set(default_levels baseline)
endif()
set(LEVELS ${{default_levels}} CACHE STRING "SIMD levels: baseline, avx2, avx512, neon")

set(flags {flags})
set(flags_avx2 {avx2})
set(flags_avx512 {avx512})

add_library({prefix} STATIC {prefix}.c runtime.c)
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_compile_options({prefix} PRIVATE ${{flags}})
target_link_libraries({prefix} PUBLIC m)
if(THREADS)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  target_link_libraries({prefix} PUBLIC Threads::Threads)
else()
  target_compile_definitions({prefix} PRIVATE DF_NO_THREADS)
endif()
if(NOT "baseline" IN_LIST LEVELS)
  target_compile_definitions({prefix} PRIVATE DF_WITHOUT_BASELINE)
endif()
foreach(level ${{LEVELS}})
  string(TOUPPER ${{level}} upper)
  target_compile_definitions({prefix} PRIVATE DF_HAVE_${{upper}})
  add_library({prefix}_kernels_${{level}} OBJECT {each})
  target_compile_options({prefix}_kernels_${{level}} PRIVATE ${{flags}} ${{flags_${{level}}}})
  target_compile_definitions({prefix}_kernels_${{level}} PRIVATE DF_ISA=${{level}}
    $<$<NOT:$<BOOL:${{THREADS}}>>:DF_NO_THREADS>)
  target_sources({prefix} PRIVATE $<TARGET_OBJECTS:{prefix}_kernels_${{level}}>)
endforeach()

enable_testing()
add_executable({prefix}_check check.c)
set_target_properties({prefix}_check PROPERTIES OUTPUT_NAME check)
target_link_libraries({prefix}_check PRIVATE {prefix})
if(NOT "{level}" IN_LIST LEVELS)
  target_compile_definitions({prefix}_check PRIVATE SAME_LEVEL=0)
endif()
configure_file(weights.safetensors weights.safetensors COPYONLY)
add_test(NAME {prefix}_check COMMAND {prefix}_check)
"""


def _each_level(clusters: bool) -> list[str]:
    """Return the stems of the sources that are compiled once per SIMD level."""
    return ["kernels", "clusters"] if clusters else ["kernels"]


def _objects(clusters: bool) -> str:
    return " ".join([f"$(LEVELS:%=build/%/{name}.o)" for name in _each_level(clusters)])


def makefile(level: str, machine: str, prefix: str, clusters: bool) -> str:
    """Return the text of a Makefile. `level` and `machine` are of the recorded runs; `clusters`:
    whether there are compiled clusters."""
    text = ("# make          builds check and runs it\n# make lib{prefix}.a\n#\n"
            "#   RUN      an emulator that runs check, if needed: qemu-aarch64-static\n"
            + HEAD + CHECK + LIBRARY)
    return _filled(text, level, machine, prefix=prefix, own=f"build/{prefix}.o",
                   library=f"lib{prefix}.a", header=f"{prefix}.h", each=_objects(clusters))


def library_makefile(level: str, machine: str) -> str:
    """Return the text of a Makefile that builds libdualflow.a."""
    return _filled("# make          builds libdualflow.a\n#\n" + HEAD + LIBRARY, level, machine,
                   own="", library="libdualflow.a", header="dualflow.h", each=_objects(False))


def _filled(text: str, level: str, machine: str, **names: str) -> str:
    return text.format(level=level, machine=machine, flags=FLAGS, **LEVELS, **names)


def cmake(level: str, machine: str, prefix: str, clusters: bool) -> str:
    """Return the text of a CMakeLists.txt."""
    machines = "x86_64|AMD64" if machine == "x86_64" else machine
    return CMAKE.format(prefix=prefix, level=level, machines=machines, flags=FLAGS,
                        each=" ".join([f"{name}.c" for name in _each_level(clusters)]), **LEVELS)
