"""The compiled modules, and what CMake needs to know of a wheel; everything else stands in pyproject.toml."""

import os
import sys
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import Extension, setup
from setuptools.command.build_py import build_py

# No -march=native, no -ffast-math and no fused multiply-add: the same bits on every x86-64 machine.
if sys.platform == "win32":
    compile_args = ["/O2", "/std:c++17", "/fp:precise"]
else:
    compile_args = ["-O3", "-std=c++17", "-ffp-contract=off", "-fvisibility=hidden", "-g0"]
headers = [path for kind in ("h", "hpp", "inl") for path in glob(f"csrc/include/ocpfast/**/*.{kind}", recursive=True)]

core = Pybind11Extension(
    "ocpfast._core",
    sorted(glob("csrc/bindings/*.cpp")),
    include_dirs=["csrc/include"],
    depends=[*headers, *glob("csrc/bindings/*.hpp")],
    extra_compile_args=compile_args,
)
systems = Extension(
    "ocpfast.systems.*",
    ["ocpfast/systems/*.pyx"],
    include_dirs=["csrc/include"],
    depends=headers,
    language="c++",
    extra_compile_args=compile_args,
)


class BuildPy(build_py):
    """Writes into the wheel what csrc/cmake/ocpfastPlace.cmake finds out in the source tree."""

    def run(self) -> None:
        """Copy all files, then replace one."""
        super().run()
        if self.editable_mode:
            return
        lines = [f'set(ocpfast_VERSION "{self.distribution.get_version()}")']
        for name, place in (("INCLUDE_DIR", "include"), ("C_SOURCE", "c_api/c_api.cpp")):
            lines.append(f'get_filename_component(ocpfast_{name} "${{CMAKE_CURRENT_LIST_DIR}}/../{place}" ABSOLUTE)')
        Path(self.build_lib, "ocpfast", "cmake", "ocpfastPlace.cmake").write_text("\n".join(lines) + "\n")


jobs = min(4, os.cpu_count() or 1)  # a compiler takes up to 0.8 GB
with ParallelCompile(default=jobs):  # the files of one module
    setup(
        cmdclass={"build_py": BuildPy},
        options={"build_ext": {"parallel": jobs}},  # several modules, most of which are one file
        ext_modules=[
            core,
            # systems state themselves how they are pickled
            *cythonize([systems], compiler_directives={"language_level": 3, "auto_pickle": False}),
        ],
    )
