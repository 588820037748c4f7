"""The compiled modules; everything else about the package stands in pyproject.toml."""

import sys
from glob import glob

from Cython.Build import cythonize
from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import Extension, setup

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

with ParallelCompile(default=2):
    setup(
        ext_modules=[
            core,
            *cythonize([systems], compiler_directives={"language_level": 3, "embedsignature": True}),
        ]
    )
