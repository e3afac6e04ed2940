// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cassert>

extern "C" __global__ void print(int n, const char *name)
{
	if (threadIdx.x < 2)
		printf("%s: thread %d of %u, %5.2f, %lld, %c, %x, %-6s|%%\n", name, threadIdx.x, blockDim.x,
		       threadIdx.x * 1.25, 1234567890123LL + n, 'a' + n, 255, "left");
}

extern "C" __global__ void fails(int n)
{
	assert(threadIdx.x < n);
}

// A list that grows out of device memory of its own.
struct node {
	node *next;
	int value;
};

extern "C" __global__ void heap(int *out)
{
	node *list = 0;

	for (int i = 0; i < 10; i++) {
		node *n = new node;

		n->value = i + threadIdx.x;
		n->next = list;
		list = n;
	}
	int sum = 0;

	while (list) {
		node *n = list;

		sum = sum * 3 + n->value;
		list = n->next;
		delete n;
	}
	out[threadIdx.x] = sum;
}
