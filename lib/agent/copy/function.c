/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/copy/function.h"

#include <stddef.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/uprobe/api_trace.h"

/* Names without "Async" and what comes behind the last underscore. */
static const struct {
	const char *name;
	uint8_t shape, kind, element;
	const char *size, *height;	/* names of these arguments; size: of the number of elements, of a batch, too */
} shapes[] = {
	{ "cuMemcpy", GT_SHAPE_LINE, GT_COPY_UNKNOWN, 1, "ByteCount", NULL },
	{ "cuMemcpyHtoD", GT_SHAPE_LINE, GT_COPY_HOST_TO_DEVICE, 1, "ByteCount", NULL },
	{ "cuMemcpyHtoA", GT_SHAPE_LINE, GT_COPY_HOST_TO_DEVICE, 1, "ByteCount", NULL },
	{ "cuMemcpyDtoH", GT_SHAPE_LINE, GT_COPY_DEVICE_TO_HOST, 1, "ByteCount", NULL },
	{ "cuMemcpyAtoH", GT_SHAPE_LINE, GT_COPY_DEVICE_TO_HOST, 1, "ByteCount", NULL },
	{ "cuMemcpyDtoD", GT_SHAPE_LINE, GT_COPY_DEVICE_TO_DEVICE, 1, "ByteCount", NULL },
	{ "cuMemcpyDtoA", GT_SHAPE_LINE, GT_COPY_DEVICE_TO_DEVICE, 1, "ByteCount", NULL },
	{ "cuMemcpyAtoD", GT_SHAPE_LINE, GT_COPY_DEVICE_TO_DEVICE, 1, "ByteCount", NULL },
	{ "cuMemcpyAtoA", GT_SHAPE_LINE, GT_COPY_DEVICE_TO_DEVICE, 1, "ByteCount", NULL },
	{ "cuMemcpyPeer", GT_SHAPE_LINE, GT_COPY_PEER, 1, "ByteCount", NULL },
	{ "cuMemcpy2D", GT_SHAPE_PLANE, GT_COPY_UNKNOWN, 1, "pCopy", NULL },
	{ "cuMemcpy2DUnaligned", GT_SHAPE_PLANE, GT_COPY_UNKNOWN, 1, "pCopy", NULL },
	{ "cuMemcpy3D", GT_SHAPE_VOLUME, GT_COPY_UNKNOWN, 1, "pCopy", NULL },
	{ "cuMemcpy3DPeer", GT_SHAPE_PEERS, GT_COPY_PEER, 1, "pCopy", NULL },
	{ "cuMemcpyBatch", GT_SHAPE_LINES, GT_COPY_UNKNOWN, 1, "count", NULL },
	{ "cuMemcpy3DBatch", GT_SHAPE_VOLUMES, GT_COPY_UNKNOWN, 1, "numOps", NULL },
	{ "cuMemsetD8", GT_SHAPE_FILL, GT_COPY_MEMSET, 1, "N", NULL },
	{ "cuMemsetD16", GT_SHAPE_FILL, GT_COPY_MEMSET, 2, "N", NULL },
	{ "cuMemsetD32", GT_SHAPE_FILL, GT_COPY_MEMSET, 4, "N", NULL },
	{ "cuMemsetD2D8", GT_SHAPE_FILL_PLANE, GT_COPY_MEMSET, 1, "Width", "Height" },
	{ "cuMemsetD2D16", GT_SHAPE_FILL_PLANE, GT_COPY_MEMSET, 2, "Width", "Height" },
	{ "cuMemsetD2D32", GT_SHAPE_FILL_PLANE, GT_COPY_MEMSET, 4, "Width", "Height" },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int find_arg(uint32_t function, const char *name)
{
	unsigned count = gt_api_arg_count(function);

	for (unsigned i = 0; name && i < count; i++) {
		if (!strcmp(gt_api_arg_name(function, i), name))
			return (int)i;
	}
	return -1;
}

static bool ends_with(const char *name, size_t length, const char *suffix)
{
	return length >= strlen(suffix) && !strncmp(name + length - strlen(suffix), suffix, strlen(suffix));
}

/* CUDA 2 had sizes of 32 bits, in structures as well. */
static bool is_of_cuda_2(uint32_t function, unsigned shape, int size)
{
	const char *name = gt_api_name(function);

	if (shape == GT_SHAPE_PLANE || shape == GT_SHAPE_VOLUME)
		return !strstr(name, "_v2");
	return gt_api_arg_type(function, (unsigned)size) == 'u';
}

struct gt_copy_function gt_copy_function(uint32_t function)
{
	const char *name = gt_api_name(function), *suffix = strchr(name, '_');
	size_t length = suffix ? (size_t)(suffix - name) : strlen(name);
	bool is_async = ends_with(name, length, "Async");

	if (is_async)
		length -= strlen("Async");
	for (unsigned i = 0; i < SHAPES; i++) {
		int size;

		if (strlen(shapes[i].name) != length || strncmp(shapes[i].name, name, length))
			continue;
		size = find_arg(function, shapes[i].size);
		if (size < 0 || is_of_cuda_2(function, shapes[i].shape, size))
			break;
		return (struct gt_copy_function){
			.shape = shapes[i].shape, .kind = shapes[i].kind, .element = shapes[i].element,
			.size = (uint8_t)size,
			.height = shapes[i].height ? (uint8_t)find_arg(function, shapes[i].height) : 0,
			.stream = (int8_t)find_arg(function, "hStream"),
			.per_thread = suffix && (strstr(suffix, "_ptsz") || strstr(suffix, "_ptds")),
			.is_async = is_async,
		};
	}
	return (struct gt_copy_function){ .shape = GT_SHAPE_NONE };
}

/* ---- where memory is ---- */

/* An address that the driver does not know is ordinary memory of the host. */
static bool is_host(CUdeviceptr address)
{
	unsigned type = 0;

	return gt_cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ||
	       type == CU_MEMORYTYPE_HOST;
}

static uint32_t kind_between(bool from_host, bool to_host)
{
	if (from_host)
		return to_host ? GT_COPY_HOST_TO_HOST : GT_COPY_HOST_TO_DEVICE;
	return to_host ? GT_COPY_DEVICE_TO_HOST : GT_COPY_DEVICE_TO_DEVICE;
}

static uint32_t kind_of_addresses(CUdeviceptr from, CUdeviceptr to)
{
	return kind_between(is_host(from), is_host(to));
}

static bool is_host_side(CUmemorytype type, CUdeviceptr unified)
{
	return type == CU_MEMORYTYPE_HOST || (type == CU_MEMORYTYPE_UNIFIED && is_host(unified));
}

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D name their sides alike. */
#define KIND_OF_SIDES(c) kind_between(is_host_side((c)->srcMemoryType, (c)->srcDevice), \
				      is_host_side((c)->dstMemoryType, (c)->dstDevice))

/* ---- how much, from where to where ---- */

static void look_at_plane(const CUDA_MEMCPY2D *copy, struct gt_copy_work *work)
{
	work->bytes = copy->WidthInBytes * copy->Height;
	work->kind = KIND_OF_SIDES(copy);
}

static void look_at_volume(const CUDA_MEMCPY3D *copy, struct gt_copy_work *work)
{
	work->bytes = copy->WidthInBytes * copy->Height * copy->Depth;
	work->kind = KIND_OF_SIDES(copy);
}

static void look_at_peers(const CUDA_MEMCPY3D_PEER *copy, struct gt_copy_work *work)
{
	work->bytes = copy->WidthInBytes * copy->Height * copy->Depth;
}

/* All of a batch are of one kind, or it has none. */
static void add_kind(struct gt_copy_work *work, uint64_t index, uint32_t kind)
{
	if (!index)
		work->kind = kind;
	else if (work->kind != kind)
		work->kind = GT_COPY_UNKNOWN;
}

/* Their first arguments are arrays: where to, where from, how much. */
static void look_at_lines(const uint64_t *args, uint64_t count, struct gt_copy_work *work)
{
	const CUdeviceptr *to = (const void *)args[0], *from = (const void *)args[1];
	const size_t *sizes = (const void *)args[2];

	for (uint64_t i = 0; i < count; i++) {
		work->bytes += sizes[i];
		add_kind(work, i, kind_of_addresses(from[i], to[i]));
	}
}

/* Array operands count their width in elements, whose size only the array knows. */
static void look_at_volumes(const CUDA_MEMCPY3D_BATCH_OP *ops, uint64_t count, struct gt_copy_work *work)
{
	for (uint64_t i = 0; i < count; i++) {
		const CUmemcpy3DOperand *from = &ops[i].src, *to = &ops[i].dst;
		bool from_array = from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
		bool to_array = to->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;

		if (!from_array && !to_array)
			work->bytes += ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth;
		add_kind(work, i, kind_between(!from_array && is_host(from->op.ptr.ptr),
					       !to_array && is_host(to->op.ptr.ptr)));
	}
}

static void look(const struct gt_copy_function *function, const uint64_t *args, struct gt_copy_work *work)
{
	uint64_t size = args[function->size];

	switch (function->shape) {
	case GT_SHAPE_PLANE:
		look_at_plane((const void *)size, work);
		break;
	case GT_SHAPE_VOLUME:
		look_at_volume((const void *)size, work);
		break;
	case GT_SHAPE_PEERS:
		look_at_peers((const void *)size, work);
		break;
	case GT_SHAPE_LINES:
		look_at_lines(args, size, work);
		break;
	case GT_SHAPE_VOLUMES:
		look_at_volumes((const void *)args[1], size, work);
		break;
	case GT_SHAPE_FILL_PLANE:
		work->bytes = size * args[function->height] * function->element;
		break;
	default:
		work->bytes = size * function->element;
		if (work->kind == GT_COPY_UNKNOWN)
			work->kind = kind_of_addresses(args[1], args[0]);
		break;
	}
}

/* Where nothing is of the host's, the driver does not wait, whatever the function's name says. */
static bool has_host_side(uint32_t kind)
{
	return kind == GT_COPY_HOST_TO_DEVICE || kind == GT_COPY_DEVICE_TO_HOST ||
	       kind == GT_COPY_HOST_TO_HOST;
}

CUstream gt_copy_stream(const struct gt_copy_function *function, const uint64_t *args)
{
	CUstream stream = function->stream >= 0 ? (CUstream)args[function->stream] : NULL;

	return !stream && function->per_thread ? CU_STREAM_PER_THREAD : stream;
}

struct gt_copy_work gt_copy_work(const struct gt_copy_function *function, const uint64_t *args)
{
	struct gt_copy_work work = { .kind = function->kind };

	look(function, args, &work);
	work.waits = !function->is_async && has_host_side(work.kind);
	return work;
}
