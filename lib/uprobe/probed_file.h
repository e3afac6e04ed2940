/* SPDX-License-Identifier: Apache-2.0 */
/* One file whose functions are watched, by a pair of BPF programs. */
#ifndef GT_UPROBE_PROBED_FILE_H
#define GT_UPROBE_PROBED_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/uprobe/attach.h"
#include "lib/uprobe/sites.h"

struct gt_notes;

struct gt_probed_file {
	dev_t device;
	ino_t inode;
	char *path;		/* may lead nowhere by now */
	struct gt_sites sites;
	struct gt_uprobe_links enter, leave;
	unsigned watched;	/* how many of the sites */
};

/* number: for cookies.  -errno of stat(); -ENOMEM.  With gt_error() text. */
int gt_probed_file_new(const char *path, unsigned number, struct gt_probed_file **ret_file);

/*
 * Find the functions that match, or those of the driver API (pattern NULL; queries: also
 * those that only ask).  The errors of gt_sites_matching() and gt_sites_of_driver().
 */
int gt_probed_file_find(struct gt_probed_file *file, const char *pattern, bool queries);

/*
 * Attach the programs at entries and at returns; multi: by links to many places.  What
 * cannot be watched is spoken of in notes.  The errors of gt_uprobe_attach_multi() and
 * gt_uprobe_attach_each(); -EMFILE; -ENOEXEC: the kernel takes none of the functions.  Without gt_error() text.
 */
int gt_probed_file_attach(struct gt_probed_file *file, int enter_fd, int leave_fd, bool multi, struct gt_notes *notes);

void gt_probed_file_detach(struct gt_probed_file *file);
void gt_probed_file_free(struct gt_probed_file *file);

#endif
