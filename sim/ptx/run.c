/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a kernel: workers take blocks until there are none left.
 *
 * A worker keeps to one block while it gets on.  When all that a block does is
 * look at memory for somebody to change it, the worker starts another block
 * beside it, up to a bound on memory, so that blocks which wait for one another
 * make progress.  A cooperative launch has all its blocks started.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

#define MAX_WORKERS 64
#define RESIDENT_BYTES ((size_t)512 << 20)	/* of blocks started besides the first */
#define COOPERATIVE_BYTES ((size_t)8 << 30)
#define SMALL_WORK 1024				/* threads for which helpers do not pay */
#define MAX_THREADS 1024
#define PATIENCE 16				/* idle turns before another block is started */
#define BUSY_TURNS 5000				/* idle turns before sleeping */
#define MAX_CLUSTER 16

static void set_error(struct sim_error *err, int kind, const char *text)
{
	memset(err, 0, sizeof(*err));
	err->kind = kind;
	snprintf(err->text, sizeof(err->text), "%s", text);
}

static int refuse(struct sim_error *err, const struct sim_kernel *kernel, const char *why,
		  unsigned long long have, unsigned long long most)
{
	memset(err, 0, sizeof(*err));
	err->kind = SIM_ERROR_LAUNCH;
	snprintf(err->text, sizeof(err->text), "kernel '%.200s': %s: %llu, at most %llu",
		 kernel->info.name, why, have, most);
	return -1;
}

/* The first failure is the one that is told. */
static void stop_with(struct launch *launch, const struct sim_error *err)
{
	pthread_mutex_lock(&launch->error_lock);
	if (!launch->error.kind)
		launch->error = *err;
	pthread_mutex_unlock(&launch->error_lock);
	atomic_store(&launch->stop, 1);
}

static const struct warp *faulty_warp(const struct block *block)
{
	unsigned i;

	for (i = 0; i < block->warp_count; i++)
		if (block->warps[i].fault.kind)
			return &block->warps[i];
	return &block->warps[0];
}

static void tell_fault(struct block *block)
{
	const struct warp *w = faulty_warp(block);
	const struct fault *fault = &w->fault;
	unsigned lane = fault->lane;
	char where[40] = "";
	struct sim_error err = { .line = fault->line, .kind = fault->kind };

	if (fault->has_addr)
		snprintf(where, sizeof(where), " at address 0x%llx", (unsigned long long)fault->addr);
	snprintf(err.text, sizeof(err.text),
		 "kernel '%.200s': %s%s, ptx line %u, block (%u,%u,%u), thread (%u,%u,%u)",
		 block->launch->kernel->info.name, fault->text, where, fault->line,
		 block->ctaid[0], block->ctaid[1], block->ctaid[2],
		 w->tid[0][lane], w->tid[1][lane], w->tid[2][lane]);
	stop_with(block->launch, &err);
}

/* Where the first waiting group stands. */
static void tell_deadlock(struct block *block)
{
	struct sim_error err = { .kind = SIM_ERROR_TRAP };
	unsigned i;

	for (i = 0; i < block->warp_count && !block->warps[i].group_count; i++)
		;
	if (i < block->warp_count) {
		const struct group *g = &block->warps[i].groups[0];

		err.line = g->frame->func->code[g->pc].line;
	}
	snprintf(err.text, sizeof(err.text),
		 "kernel '%.200s': threads wait for others that cannot come, ptx line %u, block (%u,%u,%u)",
		 block->launch->kernel->info.name, err.line, block->ctaid[0], block->ctaid[1],
		 block->ctaid[2]);
	stop_with(block->launch, &err);
}

static void tell_memory(struct launch *launch)
{
	struct sim_error err;

	set_error(&err, SIM_ERROR_MEMORY, "out of host memory for a block");
	stop_with(launch, &err);
}

static struct block *take_block(struct worker *worker)
{
	struct block *block = worker->idle;

	if (block)
		worker->idle = block->next;
	else
		block = block_new(worker);
	if (!block)
		return NULL;
	block->next = worker->resident;
	worker->resident = block;
	worker->resident_count++;
	return block;
}

/* Block `rank` of cluster `index`. */
static void place_block(const struct launch *launch, uint64_t index, unsigned rank,
			uint32_t ctaid[3])
{
	const uint32_t *cluster = launch->cluster;
	uint64_t x = launch->grid[0] / cluster[0], y = launch->grid[1] / cluster[1];

	ctaid[0] = (uint32_t)(index % x) * cluster[0] + rank % cluster[0];
	ctaid[1] = (uint32_t)(index / x % y) * cluster[1] + rank / cluster[0] % cluster[1];
	ctaid[2] = (uint32_t)(index / x / y) * cluster[2] + rank / cluster[0] / cluster[1];
}

static struct cluster *new_cluster(const struct launch *launch)
{
	struct cluster *cluster = calloc(1, sizeof(*cluster) +
					 launch->cluster_size * sizeof(cluster->blocks[0]));

	if (!cluster)
		return NULL;
	cluster->size = cluster->left = launch->cluster_size;
	cluster->live = launch->cluster_size * launch->threads;
	return cluster;
}

/* Take the next cluster of the grid, which is one block if there are none. */
static int start_cluster(struct worker *worker)
{
	struct launch *launch = worker->launch;
	uint64_t index = atomic_fetch_add(&launch->next_cluster, 1);
	struct cluster *cluster;
	struct block *block;
	uint32_t ctaid[3];
	unsigned rank;

	if (index >= launch->block_total / launch->cluster_size)
		return 0;
	cluster = new_cluster(launch);
	if (!cluster) {
		tell_memory(launch);
		return 0;
	}
	for (rank = 0; rank < launch->cluster_size; rank++) {
		block = take_block(worker);
		if (block) {
			block->cluster = cluster;
			block->rank = rank;
			cluster->blocks[rank] = block;
			place_block(launch, index, rank, ctaid);
		}
		if (!block || block_start(block, ctaid)) {
			/* The blocks there are keep the cluster; it is freed with them. */
			cluster->left = rank + (block != NULL);
			if (!cluster->left)
				free(cluster);
			tell_memory(launch);
			return 0;
		}
	}
	return 1;
}

static void leave_cluster(struct block *block)
{
	struct cluster *cluster = block->cluster;

	block->cluster = NULL;
	if (!cluster)
		return;
	cluster->blocks[block->rank] = NULL;
	if (!--cluster->left)
		free(cluster);
}

static void retire(struct worker *worker, struct block **link)
{
	struct block *block = *link;

	*link = block->next;
	leave_cluster(block);
	block->next = worker->idle;
	worker->idle = block;
	worker->resident_count--;
}

/* A turn for each resident block; says whether anything but waiting went on. */
static int run_residents(struct worker *worker)
{
	struct block **link = &worker->resident, *block;
	int moved = 0;

	while ((block = *link) && !atomic_load_explicit(&worker->launch->stop, memory_order_relaxed)) {
		int status = block_run(block);

		if (status == BLOCK_FAULT)
			tell_fault(block);
		else if (status == BLOCK_DEADLOCK)
			tell_deadlock(block);
		moved |= status == BLOCK_SLICE || status == BLOCK_DONE;
		if (status == BLOCK_DONE)
			retire(worker, link);
		else
			link = &block->next;
	}
	return moved;
}

/* Everybody waits: leave the processor to whoever will end that. */
static void pause_worker(unsigned turns)
{
	struct timespec moment = { 0, 20000 };

	if (turns < BUSY_TURNS)
		sched_yield();
	else
		nanosleep(&moment, NULL);
}

static void work(struct worker *worker)
{
	struct launch *launch = worker->launch;
	unsigned idle_turns = 0;

	while (!atomic_load_explicit(&launch->stop, memory_order_relaxed)) {
		if (!worker->resident && !start_cluster(worker))
			return;
		if (run_residents(worker)) {
			idle_turns = 0;
			continue;
		}
		/*
		 * Waiting may end by itself, and more blocks would make each
		 * turn longer.  Once it does not, more of them are started.
		 */
		if (++idle_turns > PATIENCE && worker->resident_count < launch->max_resident &&
		    start_cluster(worker))
			continue;
		pause_worker(idle_turns);
	}
}

static void free_blocks(struct block *block)
{
	struct block *next;

	for (; block; block = next) {
		next = block->next;
		leave_cluster(block);
		block_free(block);
	}
}

static void start_all(struct worker *worker, uint64_t share)
{
	while (share--)
		if (!start_cluster(worker))
			return;
}

static void run_worker(struct worker *worker)
{
	work(worker);
	free_blocks(worker->resident);
	free_blocks(worker->idle);
}

static void *helper(void *arg)
{
	run_worker(arg);
	return NULL;
}

/* Signals are for the program's own threads. */
static int start_helper(pthread_t *thread, struct worker *worker)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(thread, NULL, helper, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

static unsigned worker_count(const struct launch *launch)
{
	cpu_set_t cpus;
	uint64_t clusters;
	unsigned count = 1;

	if (launch->block_total == 1 || launch->block_total * launch->threads <= SMALL_WORK)
		return 1;
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		count = (unsigned)CPU_COUNT(&cpus);
	if (count > MAX_WORKERS)
		count = MAX_WORKERS;
	clusters = launch->block_total / launch->cluster_size;
	return count > clusters ? (unsigned)clusters : count;
}

/* The calling thread is the first worker. */
static void run_all(struct launch *launch)
{
	unsigned count = worker_count(launch), started = 0, i;
	uint64_t clusters = launch->block_total / launch->cluster_size;
	struct worker *workers = calloc(count, sizeof(*workers));
	pthread_t threads[MAX_WORKERS];

	if (!workers) {
		tell_memory(launch);
		return;
	}
	launch->max_resident = (unsigned)(RESIDENT_BYTES / count / block_footprint(launch)) + 1;
	for (i = 0; i < count; i++) {
		workers[i].launch = launch;
		if (launch->cooperative)
			start_all(&workers[i], clusters / count + (i < clusters % count));
	}
	for (i = 1; i < count; i++, started++)
		if (start_helper(&threads[i], &workers[i]))
			break;
	/* Without a helper its blocks would stand still; an ordinary launch just has fewer. */
	if (started + 1 < count && launch->cooperative)
		tell_memory(launch);
	run_worker(&workers[0]);
	for (i = 1; i <= started; i++)
		pthread_join(threads[i], NULL);
	for (; i < count; i++)
		free_blocks(workers[i].resident);
	free(workers);
}

static int check_dims(const struct sim_kernel *kernel, const struct sim_launch *l,
		      struct sim_error *err)
{
	static const uint32_t most_grid[3] = { 0x7fffffff, 65535, 65535 };
	static const uint32_t most_block[3] = { 1024, 1024, 64 };
	uint64_t threads = 1;
	unsigned i;

	for (i = 0; i < 3; i++) {
		if (!l->grid[i] || l->grid[i] > most_grid[i])
			return refuse(err, kernel, "grid dimension out of range", l->grid[i],
				      most_grid[i]);
		if (!l->block[i] || l->block[i] > most_block[i])
			return refuse(err, kernel, "block dimension out of range", l->block[i],
				      most_block[i]);
		threads *= l->block[i];
	}
	if (threads > MAX_THREADS || threads > kernel->info.max_threads)
		return refuse(err, kernel, "too many threads in a block", threads,
			      kernel->info.max_threads);
	if (kernel->reqntid[0] && memcmp(kernel->reqntid, l->block, sizeof(l->block)))
		return refuse(err, kernel, "the kernel requires another block size", threads,
			      kernel->info.max_threads);
	return 0;
}

/* The kernel's own cluster size goes before the launch's. */
static int set_cluster(struct launch *launch, const struct sim_kernel *kernel,
		       const struct sim_launch *l, struct sim_error *err)
{
	uint64_t size = 1;
	unsigned i;

	for (i = 0; i < 3; i++) {
		launch->cluster[i] = l->cluster[i] ? l->cluster[i] : 1;
		if (kernel->cluster[0])
			launch->cluster[i] = kernel->cluster[i];
		if (l->grid[i] % launch->cluster[i])
			return refuse(err, kernel, "grid is no multiple of the cluster", l->grid[i],
				      launch->cluster[i]);
		size *= launch->cluster[i];
		if (size > MAX_CLUSTER)
			return refuse(err, kernel, "too many blocks in a cluster", size, MAX_CLUSTER);
	}
	launch->cluster_size = (uint32_t)size;
	return 0;
}

static int prepare(struct launch *launch, const struct sim_kernel *kernel,
		   const struct sim_launch *l, struct sim_error *err)
{
	const struct sim_device *dev = kernel->module->dev;
	uint64_t shared = kernel->info.static_shared, align = kernel->shared_align;
	unsigned i;

	if (check_dims(kernel, l, err) || set_cluster(launch, kernel, l, err))
		return -1;
	launch->kernel = kernel;
	launch->dev = dev;
	for (i = 0; i < 3; i++) {
		launch->grid[i] = l->grid[i];
		launch->block[i] = l->block[i];
	}
	launch->block_total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	launch->threads = l->block[0] * l->block[1] * l->block[2];
	launch->warps = (launch->threads + LANES - 1) / LANES;
	shared = (shared + align - 1) & ~(align - 1);
	launch->dynamic_offset = (uint32_t)shared;
	launch->dynamic_shared = l->dynamic_shared;
	if (!l->dynamic_shared)
		shared = kernel->info.static_shared;
	shared += l->dynamic_shared;
	if (shared > dev->max_shared_per_block)
		return refuse(err, kernel, "too much shared memory", shared,
			      dev->max_shared_per_block);
	launch->shared_size = (uint32_t)shared;
	launch->local_stride = ((uint64_t)kernel->info.local_bytes + 255) & ~255ull;
	launch->grid_id = l->grid_id;
	launch->cooperative = l->cooperative;
	if (l->cooperative && launch->block_total > COOPERATIVE_BYTES / block_footprint(launch))
		return refuse(err, kernel, "too many blocks for a cooperative launch",
			      launch->block_total, COOPERATIVE_BYTES / block_footprint(launch));
	return 0;
}

static int copy_params(struct launch *launch, const struct sim_launch *l, struct sim_error *err)
{
	size_t size = launch->kernel->info.param_bytes;

	/* Behind the parameters lies the workspace of the grid's barrier. */
	if (posix_memalign((void **)&launch->params, 64, ((size + 63) & ~(size_t)63) + 64)) {
		launch->params = NULL;
		set_error(err, SIM_ERROR_MEMORY, "out of host memory for kernel parameters");
		return -1;
	}
	memset(launch->params, 0, ((size + 63) & ~(size_t)63) + 64);
	if (size)
		memcpy(launch->params, l->params, size);
	if (l->cooperative)
		launch->workspace = (uintptr_t)launch->params + ((size + 63) & ~(size_t)63);
	return 0;
}

int sim_kernel_run(const struct sim_kernel *kernel, const struct sim_launch *l,
		   struct sim_error *err)
{
	struct launch launch = { 0 };
	int failed;

	memset(err, 0, sizeof(*err));
	if (prepare(&launch, kernel, l, err) || copy_params(&launch, l, err))
		return -1;
	pthread_mutex_init(&launch.error_lock, NULL);
	run_all(&launch);
	pthread_mutex_destroy(&launch.error_lock);
	free(launch.params);
	failed = launch.error.kind != SIM_OK;
	if (failed)
		*err = launch.error;
	return failed ? -1 : 0;
}
