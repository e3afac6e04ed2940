#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package as a user gets it, without the build folder: pip makes a wheel of its folder and of its
# source archive, against an installed library that pkg-config finds, and what it installs in a virtual
# environment, also as an editable one, follows the example program on the software device.
set -eu
if [ -n "$no_python" ]; then
	echo "the Python package was not built: $no_python"
	exit 77
fi
if ! "$PYTHON" -c 'import ensurepip, setuptools, wheel' 2>/dev/null; then
	echo "$PYTHON has no ensurepip, setuptools or wheel (Debian: python3-venv, python3-setuptools, python3-wheel)"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset GPUTRACE_AGENT GPUTRACE_SIM_DIR GPUTRACE_INCLUDE_DIR PYTHONPATH MAKEFLAGS MAKEOVERRIDES
build=$PWD
srcdir=$(cd "$srcdir" && pwd)

quietly() {
	"$@" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
}

prefix=$dir$(PKG_CONFIG_PATH=pkgconfig pkg-config --variable=prefix gputrace)
# One at a time: libtool links once more in the build folder.
quietly flock tests/install make install DESTDIR="$dir"
mkdir "$dir/pkgconfig"
sed "s|^prefix=.*|prefix=$prefix|" pkgconfig/gputrace.pc >"$dir/pkgconfig/gputrace.pc"
# pip writes beside the sources.
cp -rL "$srcdir/bindings/python" "$dir/source"
cd "$dir"

# Nothing is fetched: what builds it is the system's.
"$PYTHON" -m venv --system-site-packages environment
pip() {
	quietly environment/bin/python -m pip "$@"
}
python() {
	environment/bin/python -W error "$@"
}

export PKG_CONFIG_PATH=/nonexistent
if environment/bin/python -m pip install --no-index --no-build-isolation ./source >log 2>&1 ||
	! grep -q "set PKG_CONFIG_PATH" log; then
	cat log
	echo "where the library is missing, that is not said"
	exit 1
fi
export PKG_CONFIG_PATH=$dir/pkgconfig
pip wheel --no-index --no-build-isolation --no-deps -w wheels ./source
ls wheels | grep -qx 'gputrace-[0-9.]*-cp39-abi3-linux_[a-z0-9_]*\.whl' || { ls wheels; exit 1; }
(cd source && quietly "$PYTHON" -c 'from setuptools import build_meta; build_meta.build_sdist("..")')
python - wheels/*.whl gputrace-*.tar.gz "$srcdir" <<'END'
import os
import sys
import tarfile
import zipfile

wheel, archive, sources = sys.argv[1:]
modules = {"gputrace/" + name for name in os.listdir(sources + "/bindings/python/gputrace") if name != "__pycache__"}
assert {"gputrace/py.typed", "gputrace/_cffi.pyi"} < modules

def is_text(text):
    with open(sources + "/LICENSE", "rb") as file:
        assert text == file.read(), "not the licence's text"

with zipfile.ZipFile(wheel) as file:
    names = {name: name.split("/")[-1] for name in file.namelist()}
    package = {name for name in names if name.startswith("gputrace/")}
    about = {names[name] for name in names.keys() - package}
    assert package == modules | {"gputrace/_cffi.abi3.so"}, package ^ modules
    assert about == {"LICENSE", "METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt"}, about
    is_text(file.read(next(name for name in names if names[name] == "LICENSE")))
with tarfile.open(archive) as file:
    names = {name.partition("/")[2] for name in file.getnames() if not file.getmember(name).isdir()}
    names -= {name for name in names if name.startswith("gputrace.egg-info/")}
    extra = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "build_cffi.py", "cdef.py", "pyproject.toml", "setup.cfg", "setup.py"}
    assert names == modules | extra, names ^ (modules | extra)
    is_text(file.extractfile(file.getnames()[0] + "/LICENSE").read())
END

# Where it was told to go by --prefix it would find these itself.
GPUTRACE_AGENT=$(echo "$prefix"/lib*/libgputrace/libgputrace-agent.so)
GPUTRACE_SIM_DIR=${GPUTRACE_AGENT%/*}/sim
export GPUTRACE_AGENT GPUTRACE_SIM_DIR

check() {
	python - "$1" "$build/examples/demo/vecadd" <<'END'
import importlib.metadata
import sys
import gputrace

where, program = sys.argv[1:]
assert where in gputrace.__file__, gputrace.__file__
assert importlib.metadata.version("gputrace") == gputrace.version(), importlib.metadata.version("gputrace")
plugins = [point for point in importlib.metadata.entry_points(group="pytest11") if point.name == "gputrace"]
assert [point.value for point in plugins] == ["gputrace.pytest_plugin"], plugins
gputrace.bpf('SEC("cuda/entry:*") int nothing(void *ctx) { return 0; }')
with gputrace.Target.spawn([program, "-l", "3", "-n", "1000"], device=gputrace.Device.SIM) as target:
    target.attach_timeline()
    reader = target.reader()
    target.resume()
    kernels = [event.name for event in reader if event.type is gputrace.EventType.KERNEL]
assert kernels == ["vecadd"] * 3, kernels
END
	if ! LD_LIBRARY_PATH=$GPUTRACE_SIM_DIR python -m gputrace "$script" 2>said || ! grep -q "2 launches, 2 runs" said; then
		cat said
		exit 1
	fi
	echo "as installed from $2: good"
}

script=$dir/script.py
cat >"$script" <<END
import sys
sys.path.insert(0, "$srcdir/tests/python")
from cuda import Cuda
cuda = Cuda()
cuda.launch("nothing")
cuda.launch("nothing")
END

pip install --no-index wheels/*.whl
check environment "the folder"
pip install --no-index --no-build-isolation --force-reinstall --no-deps ./gputrace-*.tar.gz
check environment "the source archive"
pip uninstall -y gputrace
pip install --no-index --no-build-isolation -e ./source
check source "the folder, editable"
