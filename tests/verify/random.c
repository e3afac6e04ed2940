/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verify/random.h"

uint64_t vm_random(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t vm_interesting(uint64_t *seed)
{
	static const uint64_t corners[] = {
		0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 255, 256, 4095, 4096, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX, UINT64_MAX - 1,
		0xffffffff80000000, 0xffffffff00000000,
	};
	uint64_t r = vm_random(seed);

	switch (r % 4) {
	case 0:
		return corners[(r >> 8) % (sizeof(corners) / sizeof(corners[0]))];
	case 1:
		return (r >> 8) % 40;
	case 2:
		return vm_random(seed) >> (r >> 8) % 64;
	default:
		return vm_random(seed);
	}
}
