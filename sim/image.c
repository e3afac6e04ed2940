/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of images, files, and the linker's product. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/image.h"

#define FILE_MAX	(1ull << 30)

/* What cuLinkComplete gives here in place of a cubin. */
static const char linked_magic[8] = "\x7fSIMPTX";

struct linked {
	char magic[8];
	uint64_t length;	/* of the text that follows, without its NUL */
	char text[];
};

static CUresult copy_text(const char *text, size_t length, struct sim_text *ret)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, text, length);
	copy[length] = '\0';
	ret->text = copy;
	ret->length = length;
	return CUDA_SUCCESS;
}

static CUresult unpack(const void *image, size_t size, struct sim_text *ret)
{
	struct linked head;

	if (size < sizeof(head))
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&head, image, sizeof(head));
	if (head.length > FILE_MAX || head.length > size - sizeof(head))
		return CUDA_ERROR_INVALID_IMAGE;
	return copy_text((const char *)image + sizeof(head), head.length, ret);
}

CUresult sim_image_pack(const struct sim_text *text, void **ret_image, size_t *ret_size)
{
	struct linked *image = malloc(sizeof(*image) + text->length + 1);

	if (!image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(image->magic, linked_magic, sizeof(image->magic));
	image->length = text->length;
	memcpy(image->text, text->text, text->length + 1);
	*ret_image = image;
	*ret_size = sizeof(*image) + text->length + 1;
	return CUDA_SUCCESS;
}

/* PTX begins with a directive or a comment, after any blank. */
static bool looks_like_text(const unsigned char *image, size_t size)
{
	return size && (*image == '.' || *image == '/' || *image == ' ' ||
			(*image >= '\t' && *image <= '\r'));
}

/* Does the image begin with these bytes?  Looks no further than the first that differs. */
static bool begins(const unsigned char *image, size_t size, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (i >= size || image[i] != (unsigned char)bytes[i])
			return false;
	return true;
}

bool sim_image_is_linked(const void *image, size_t size)
{
	return begins(image, size, linked_magic, sizeof(linked_magic));
}

CUresult sim_image_text(const void *image, size_t size, unsigned arch, struct sim_text *ret)
{
	if (!image || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (begins(image, size, "\x7f" "ELF", 4))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	if (sim_image_is_linked(image, size))
		return unpack(image, size, ret);
	if (sim_is_fatbin(image, size))
		return sim_fatbin_text(image, size, arch, ret);
	if (looks_like_text(image, size))
		return copy_text(image, size == SIM_IMAGE_UNBOUNDED ? strlen(image)
								    : strnlen(image, size), ret);
	return CUDA_ERROR_INVALID_IMAGE;
}

CUresult sim_image_file(const char *path, unsigned arch, struct sim_text *ret)
{
	FILE *file = fopen(path, "rb");
	CUresult r = CUDA_ERROR_FILE_NOT_FOUND;
	char *bytes = NULL;
	long size;

	if (!file)
		return r;
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		goto out;
	r = CUDA_ERROR_INVALID_IMAGE;
	if (size == 0 || (unsigned long)size > FILE_MAX)
		goto out;
	bytes = malloc((size_t)size);
	if (!bytes)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else if (fread(bytes, 1, (size_t)size, file) == (size_t)size)
		r = sim_image_text(bytes, (size_t)size, arch, ret);
out:
	free(bytes);
	fclose(file);
	return r;
}
