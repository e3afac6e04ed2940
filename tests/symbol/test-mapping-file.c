/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is mapped, where others have its name, its inode number, or both: on file systems that the test mounts. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/target/mapped.h"
#include "lib/util/mapping_file.h"
#include "tests/suite.h"

#define SKIP 77
#define FIRST 0x200000000000	/* where files are mapped, one behind the other */

static const char root[] = "/tmp";	/* this process's own, as long as it is there */
static struct gt_mappings mappings;

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Where we may mount what we like, and as whom the kernel does not lead us through map_files; NULL or what is not permitted. */
static const char *go_apart(void)
{
	char uid[32], gid[32];

	snprintf(uid, sizeof(uid), "0 %u 1", (unsigned)getuid());
	snprintf(gid, sizeof(gid), "0 %u 1", (unsigned)getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return "a user namespace";
	if (!write_to("/proc/self/uid_map", uid) || !write_to("/proc/self/setgroups", "deny") ||
	    !write_to("/proc/self/gid_map", gid))
		return "to be root in a user namespace";
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("tmpfs", root, "tmpfs", 0, NULL))
		return "to mount a file system in a user namespace";
	return NULL;
}

/* A file system of its own with one file, which has the number that the first file of any other has. */
static void make_file_system(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int fd;

	ck_assert_int_eq(mkdir(folder, 0755), 0);
	ck_assert_msg(!mount("tmpfs", folder, "tmpfs", 0, NULL), "%s", strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	close(fd);
}

static ino_t inode_of(const char *path)
{
	struct stat status;

	ck_assert_msg(!stat(path, &status), "%s: %s", path, strerror(errno));
	return status.st_ino;
}

static dev_t device_of(const char *path)
{
	struct stat status;

	ck_assert_msg(!stat(path, &status), "%s: %s", path, strerror(errno));
	return status.st_dev;
}

/* As code, as one page of memory. */
static void map_file(const char *path, uint64_t address)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *place = (void *)(uintptr_t)address;

	ck_assert_int_ge(fd, 0);
	ck_assert_ptr_eq(mmap(place, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0), place);
	close(fd);
}

static const struct gt_mapping *mapped_at(uint64_t address)
{
	const struct gt_mapping *mapping;

	ck_assert_int_eq(gt_mappings_of_process(&mappings, getpid()), 0);
	mapping = gt_mappings_find(&mappings, address);
	ck_assert_ptr_nonnull(mapping);
	return mapping;
}

static bool is_found(uint64_t address)
{
	const struct gt_mapping *mapping = mapped_at(address);
	char path[PATH_MAX], end[PATH_MAX];
	bool found = gt_mapping_find_file(getpid(), mapping, path, sizeof(path));

	/* By its name in this process's view, not by the kernel's own way to what is mapped. */
	snprintf(end, sizeof(end), "/proc/%d/root%s", (int)getpid(), mapping->path);
	if (found)
		ck_assert_str_eq(path, end);
	return found;
}

static void setup(void)
{
	ck_assert_ptr_null(go_apart());
	ck_assert_int_eq(chdir(root), 0);
}

static void teardown(void)
{
	gt_mappings_free(&mappings);
}

START_TEST(test_same_number)
{
	make_file_system("one", "lib.so");
	make_file_system("two", "lib.so");
	ck_assert_uint_eq(inode_of("one/lib.so"), inode_of("two/lib.so"));
	map_file("one/lib.so", FIRST);
	ck_assert(is_found(FIRST));
	ck_assert_int_eq(mount("two", "one", NULL, MS_BIND, NULL), 0);
	ck_assert_str_eq(mapped_at(FIRST)->path, "/tmp/one/lib.so");
	ck_assert(!is_found(FIRST));
	ck_assert_int_eq(umount("one"), 0);
	ck_assert(is_found(FIRST));
}
END_TEST

/* A file of two layers that are file systems of their own has another device than its mapping shows. */
START_TEST(test_overlay)
{
	struct gt_mapping mapping;
	dev_t device;

	make_file_system("one", "lib.so");
	make_file_system("two", "other.so");
	make_file_system("three", "lib.so");
	ck_assert_int_eq(mkdir("both", 0755), 0);
	if (mount("overlay", "both", "overlay", MS_RDONLY, "lowerdir=one:two,xino=off")) {
		printf("not shown: an overlay of two file systems cannot be mounted: %s\n", strerror(errno));
		return;
	}
	map_file("both/lib.so", FIRST);
	mapping = *mapped_at(FIRST);
	device = device_of("both/lib.so");
	ck_assert(mapping.device != ((uint64_t)major(device) << 32 | minor(device)));
	ck_assert(is_found(FIRST));
	/* Another of that number has the name. */
	ck_assert_int_eq(mount("three", "both", NULL, MS_BIND, NULL), 0);
	ck_assert_uint_eq(mapping.inode, inode_of("both/lib.so"));
	ck_assert(!is_found(FIRST));
	ck_assert_int_eq(umount("both"), 0);
	/* Events of some kernels have a device that nothing else tells. */
	mapping.device += 1ull << 32;
	ck_assert(!gt_mapping_is_file(&mapping, "both/lib.so"));
	mapping.from_event = true;
	ck_assert(gt_mapping_is_file(&mapping, "both/lib.so"));
	ck_assert(!gt_mapping_is_file(&mapping, "three/lib.so"));
	mapping.inode++;
	ck_assert(!gt_mapping_is_file(&mapping, "both/lib.so"));
}
END_TEST

/* Of two files that are mapped, the one that was asked for. */
START_TEST(test_place)
{
	struct gt_mapped mapped;

	make_file_system("one", "libone.so.1");
	make_file_system("two", "libtwo.so.1");
	ck_assert_uint_eq(inode_of("one/libone.so.1"), inode_of("two/libtwo.so.1"));
	map_file("one/libone.so.1", FIRST);
	map_file("two/libtwo.so.1", FIRST + 4096);
	ck_assert_int_eq(gt_mapped_find(getpid(), "libtwo.so.1", &mapped), 0);
	ck_assert_uint_eq(gt_mapped_place(getpid(), &mapped, 8), FIRST + 4096 + 8);
	ck_assert_int_eq(gt_mapped_find(getpid(), "libone.so.1", &mapped), 0);
	ck_assert_uint_eq(gt_mapped_place(getpid(), &mapped, 8), FIRST + 8);
}
END_TEST

/* May a process of its own do what the tests need? */
static bool is_permitted(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		const char *missing = go_apart();

		if (missing)
			printf("SKIP: not permitted here: %s\n", missing);
		fflush(stdout);
		_exit(missing != NULL);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(void)
{
	TCase *t = tcase_create("mapping-file");

	if (!is_permitted())
		return SKIP;
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_same_number);
	tcase_add_test(t, test_overlay);
	tcase_add_test(t, test_place);
	return run_case("mapping-file", t);
}
