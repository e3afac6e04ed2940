/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/program_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/uprobe/find_library.h"
#include "lib/util/error.h"

/* "uprobe", "uretprobe", either with ".s" for sleepable; NULL for others, else what follows. */
static const char *after_kind(const char *section, struct gt_program_place *place)
{
	size_t kind = strcspn(section, "/");

	place->at_return = !strncmp(section, "uretprobe", 9);
	place->sleepable = kind > 2 && !strncmp(section + kind - 2, ".s", 2);
	if (!(kind == 6 && !strncmp(section, "uprobe", 6)) &&
	    !(kind == 8 && !strncmp(section, "uprobe.s", 8)) &&
	    !(kind == 9 && !strncmp(section, "uretprobe", 9)) &&
	    !(kind == 11 && !strncmp(section, "uretprobe.s", 11)))
		return NULL;
	return section[kind] ? section + kind + 1 : section + kind;
}

static bool means_libcuda(const char *library)
{
	return !*library || !strcmp(library, "libcuda.so.1") || !strcmp(library, "libcuda.so") ||
	       !strcmp(library, "libcuda");
}

/* [LIBRARY:]FUNCTION[+OFFSET], the library up to the last colon. */
int gt_program_place_parse(const char *section, struct gt_program_place *place)
{
	const char *spec, *colon;
	char *plus, *end;

	*place = (struct gt_program_place){ 0 };
	spec = after_kind(section, place);
	place->is_uprobe = spec != NULL;
	if (!spec)
		return 0;
	colon = strrchr(spec, ':');
	snprintf(place->library, sizeof(place->library), "%.*s", colon ? (int)(colon - spec) : 0, spec);
	snprintf(place->function, sizeof(place->function), "%s", colon ? colon + 1 : spec);
	plus = strchr(place->function, '+');
	if (plus) {
		*plus = '\0';
		place->offset = strtoull(plus + 1, &end, 0);
		if (!plus[1] || *end)
			return gt_error(-EINVAL, "section \"%s\": \"%s\" is no offset", section, plus + 1);
	}
	if (!place->function[0])
		return gt_error(-EINVAL, "section \"%s\" names no function; write uprobe/FUNCTION for one of "
				"the driver's, or uprobe/LIBRARY:FUNCTION", section);
	if (means_libcuda(place->library))
		snprintf(place->library, sizeof(place->library), "%s", GT_LIBCUDA);
	return 0;
}
