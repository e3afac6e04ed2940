/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases of the public suite (github Alan-Jowett/bpf_conformance) as lines that
 * add_listed_vectors() reads.  Built with that suite's own reader and assembler:
 * g++ -std=c++20 -I$SUITE/lib/include -I$SUITE/lib/src print-suite.cc
 *     $SUITE/lib/src/bpf_assembler.cc $SUITE/lib/src/bpf_test_parser.cc
 *
 * usage: print-suite CASE.data...
 */
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "bpf_conformance_core/bpf_test_parser.h"

static void print_bytes(const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%02x", static_cast<const uint8_t *>(bytes)[i]);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		auto [memory, result, error, insns] = parse_test_file(argv[i]);

		if (insns.empty() || !error.empty()) {
			fprintf(stderr, "%s: no program, or one that is to fail\n", argv[i]);
			return 1;
		}
		printf("%s %llx ", std::filesystem::path(argv[i]).stem().c_str(), (unsigned long long)result);
		print_bytes(insns.data(), insns.size() * sizeof(insns[0]));
		printf(" m");
		print_bytes(memory.data(), memory.size());
		printf("\n");
	}
	return 0;
}
