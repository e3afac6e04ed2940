/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, unsigned by)
{
	return value >> by | value << (32 - by);
}

static uint32_t big_endian(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void expand(const uint8_t *block, uint32_t w[64])
{
	unsigned i;

	for (i = 0; i < 16; i++)
		w[i] = big_endian(block + 4 * i);
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
}

static void digest_block(struct gt_sha256 *sha, const uint8_t *block)
{
	uint32_t s[8], w[64], t1, t2;
	unsigned i;

	expand(block, w);
	memcpy(s, sha->state, sizeof(s));
	for (i = 0; i < 64; i++) {
		t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
		     ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
		t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
		     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		sha->state[i] += s[i];
}

void gt_sha256_begin(struct gt_sha256 *sha)
{
	*sha = (struct gt_sha256){
		.state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
			   0x5be0cd19 },
	};
}

void gt_sha256_add(struct gt_sha256 *sha, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	size_t have = sha->bytes % 64, part;

	sha->bytes += size;
	while (size) {
		part = 64 - have < size ? 64 - have : size;
		memcpy(sha->block + have, bytes, part);
		have += part;
		bytes += part;
		size -= part;
		if (have == 64) {
			digest_block(sha, sha->block);
			have = 0;
		}
	}
}

void gt_sha256_end(struct gt_sha256 *sha, uint8_t digest[GT_SHA256_BYTES])
{
	uint64_t bits = sha->bytes * 8;
	uint8_t length[8];
	unsigned i;

	gt_sha256_add(sha, "\x80", 1);
	while (sha->bytes % 64 != 56)
		gt_sha256_add(sha, "", 1);
	for (i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	gt_sha256_add(sha, length, 8);
	for (i = 0; i < GT_SHA256_BYTES; i++)
		digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
