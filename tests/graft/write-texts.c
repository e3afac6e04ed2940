/* SPDX-License-Identifier: Apache-2.0 */
/* usage: write-texts DIR: the PTX of every stub of the tests, for data/make. */
#include <stdio.h>

#include "tests/graft/stubs.h"

int main(int argc, char **argv)
{
	char path[4096], why[GT_GRAFT_WHY], *text;
	FILE *file;

	if (argc != 2)
		return 2;
	for (unsigned i = 0; i < TEST_STUBS; i++) {
		if (test_stub_text(&test_stubs[i], &text, why)) {
			fprintf(stderr, "%s: %s\n", test_stubs[i].name, why);
			return 1;
		}
		snprintf(path, sizeof(path), "%s/%s.ptx", argv[1], test_stubs[i].name);
		file = fopen(path, "w");
		if (!file || fputs(text, file) < 0 || fclose(file)) {
			perror(path);
			return 1;
		}
		free(text);
	}
	return 0;
}
