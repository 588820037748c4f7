"""Builds the systems: `python setup.py build_ext --inplace`."""

from Cython.Build import cythonize
from setuptools import Extension, setup

import ocpfast

modules = [
    Extension(name, [f"{name}.pyx"], include_dirs=[ocpfast.get_include()], extra_compile_args=["-O3"])
    for name in ("pendulum", "slippery")
]
setup(name="own_system", ext_modules=cythonize(modules))
