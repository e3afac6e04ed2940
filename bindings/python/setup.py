# SPDX-License-Identifier: Apache-2.0
from setuptools import setup

setup(cffi_modules=["build_cffi.py:installed"], options={"bdist_wheel": {"py_limited_api": "cp39"}})
