# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests here: $valgrind finds errors and lost memory, and says so by status 9.
if [ -z "${VALGRIND-}" ]; then
	echo "valgrind is not there"
	exit 77
fi
if [ -n "${SANITIZE_FLAGS-}" ]; then
	echo "valgrind cannot run what is built with sanitizers"
	exit 77
fi
# The agent changes code of the driver, which is mapped from a file: --smc-check=all.
valgrind="$VALGRIND -q --smc-check=all --error-exitcode=9 --leak-check=full
	--show-leak-kinds=definite --errors-for-leak-kinds=definite"

# Copies of the software device and of the traced program: breakpoints that other tests set by uprobes are in a
# file's pages for all processes, and valgrind would run into them.  Not called as the driver is, which those who
# watch all processes look for, also while the program runs without valgrind.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -L "$GPUTRACE_SIM_DIR/libcuda.so.1" "$dir/device.so"
ln -s device.so "$dir/libcuda.so.1"
cp tests/e2e/target "$dir/"
export GPUTRACE_SIM_DIR="$dir"
