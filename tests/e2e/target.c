/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program to be traced by tests: driver API only, kernels as PTX text, so
 * that it runs on the software device and on a GPU alike.  What it prints depends
 * on its arguments and on the kernels' results alone, so that a traced run can be
 * compared with an untraced one.
 *
 *	target vecadd LAUNCHES	vector additions on two streams, alternating sizes
 *	target spin NS...	one thread spins for each time; "signal": waits for SIGUSR1 in between
 *	target exits		threads leave by four different ways
 *	target buffer		parameters passed as one buffer; a kernel without any
 *	target private		function handles that came by no entry that can be watched
 *	target files		code from a file, of a module and of a library; and files that are none
 *	target graph REPLAYS	a captured graph of 3 kernels and a node-built one of 2
 *	target pipe		asks for code from a named pipe
 *	target reload N		the same module loaded, run and unloaded N times
 *	target threads N	four host threads with N launches each
 *	target fork		the child launches, the parent launches
 *	target contexts		two contexts, one destroyed before the other's launches
 *	target ends HOW		a context with kernels in it ends: destroy, reset, release; or somebody else holds
 *				it: shared; or the primary is not destroyed: refused
 *	target global		a __device__ variable read by the host between launches
 *	target leave HOW	two launches, then return, exit, _exit or kill; or "early": these wait behind a kernel
 *				that spins for minutes, and a signal comes
 *	target alarm LAUNCHES	as vecadd, with a signal every 20 ms from before CUDA on
 *	target descriptors	closes all from 3 on, then has sockets of its own by those numbers
 *	target confined		as vecadd 4, but it forbids itself to open anything once it has begun with CUDA
 *	target greedy		as vecadd 4, after creating all keys for data of threads that there are
 *	target streams		closes its standard streams before CUDA, and opens others in their place
 *	target poor		as vecadd 4, with no more than one descriptor to spare
 *	target drop		as vecadd 4, by a user without privileges that it became before CUDA
 *	target knock		as vecadd 4, after knocking at the controller's door with a wrong secret
 *	target live THREADS [NR]	threads launch until a line is read, for each line before the last "." a
 *				module is loaded and run once, and they have launched after the line came;
 *				the system call NR would be the process's end
 *	target mute THREADS	as live, and its standard output and error are closed
 *	target headless THREADS	as live, by a thread, since the main one has ended
 *	target lie THREADS FILE	as live, and memfd_create() always returns a descriptor to read FILE by; without
 *				such a file, -1 and no error
 *	target asked		a thread asks the agent to serve another controller; a child made meanwhile does so, too
 *	target clone		a child made behind the C library's back returns from main, then the parent
 */
#include <errno.h>
#include <fcntl.h>
#include <gputrace/agent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plight.h"
#include "program.h"

static const char ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	/* out[i] = a[i] + b[i] */
	".visible .entry vecadd(.param .u64 pa, .param .u64 pb, .param .u64 po, .param .u32 pn)\n{\n"
	"	.reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
	"	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
	"	mad.lo.s32 %r1, %r1, %r2, %r3; ld.param.u32 %r2, [pn];\n"
	"	setp.ge.u32 %p, %r1, %r2; @%p bra DONE;\n"
	"	ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [po];\n"
	"	mul.wide.u32 %rd4, %r1, 4;\n"
	"	add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;\n"
	"	ld.global.u32 %r3, [%rd1]; ld.global.u32 %r4, [%rd2];\n"
	"	add.u32 %r5, %r3, %r4; st.global.u32 [%rd3], %r5;\n"
	"DONE:	ret;\n}\n"
	/* spins until %globaltimer has advanced by pns */
	".visible .entry spin(.param .u64 pns)\n{\n"
	"	.reg .pred %p; .reg .b64 %rd<5>;\n"
	"	ld.param.u64 %rd1, [pns]; mov.u64 %rd2, %globaltimer;\n"
	"LOOP:	mov.u64 %rd3, %globaltimer; sub.u64 %rd4, %rd3, %rd2;\n"
	"	setp.lt.u64 %p, %rd4, %rd1; @%p bra LOOP;\n"
	"	ret;\n}\n"
	/* out[tid]: how the thread left: predicated ret, exit in a branch, ret.uni, the end */
	".visible .entry exits(.param .u64 po)\n{\n"
	"	.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [po]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
	"	add.s64 %rd1, %rd1, %rd2; and.b32 %r2, %r1, 3;\n"
	"	setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 10; @%p1 st.global.u32 [%rd1], %r3; @%p1 ret;\n"
	"	setp.eq.u32 %p2, %r2, 1; @!%p2 bra OTHERS;\n"
	"	mov.u32 %r3, 11; st.global.u32 [%rd1], %r3; exit;\n"
	"OTHERS:\n"
	"	setp.eq.u32 %p3, %r2, 2; mov.u32 %r3, 12; @%p3 st.global.u32 [%rd1], %r3; @%p3 bra END;\n"
	"	mov.u32 %r3, 13; st.global.u32 [%rd1], %r3; ret;\n"
	"END:\n}\n"
	".global .align 4 .u32 counter = 5;\n"
	/* one more for each thread; takes no parameters */
	".visible .entry bump\n{\n"
	"	.reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
	"	mov.u64 %rd1, counter; atom.global.add.u32 %r1, [%rd1], 1; ret;\n}\n";

static CUcontext primary;
static CUmodule module;

static CUfunction function(const char *name)
{
	CUfunction f;

	CHECK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void start(void)
{
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuModuleLoadData(&module, ptx));
}

#define ELEMENTS 100000u

struct vectors {
	CUdeviceptr a, b, out;
	CUstream stream;
	uint32_t *host;
};

static void make_vectors(struct vectors *v)
{
	v->host = malloc(ELEMENTS * 4);
	CHECK(cuMemAlloc_v2(&v->a, ELEMENTS * 4));
	CHECK(cuMemAlloc_v2(&v->b, ELEMENTS * 4));
	CHECK(cuMemAlloc_v2(&v->out, ELEMENTS * 4));
	CHECK(cuStreamCreate(&v->stream, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 0; i < ELEMENTS; i++)
		v->host[i] = i * 3;
	CHECK(cuMemcpyHtoD_v2(v->a, v->host, ELEMENTS * 4));
	for (uint32_t i = 0; i < ELEMENTS; i++)
		v->host[i] = i ^ 0x55;
	CHECK(cuMemcpyHtoD_v2(v->b, v->host, ELEMENTS * 4));
}

static uint32_t checksum(struct vectors *v, uint32_t n)
{
	uint32_t sum = 0;

	CHECK(cuMemcpyDtoH_v2(v->host, v->out, ELEMENTS * 4));
	for (uint32_t i = 0; i < n; i++) {
		if (v->host[i] != i * 3 + (i ^ 0x55)) {
			fprintf(stderr, "target: element %u is wrong\n", i);
			_exit(5);
		}
		sum = sum * 31 + v->host[i];
	}
	return sum;
}

static unsigned add(CUfunction f, struct vectors *v, uint32_t n)
{
	void *params[] = { &v->a, &v->b, &v->out, &n };
	unsigned blocks = (n + 255) / 256;

	CHECK(cuLaunchKernel(f, blocks, 1, 1, 256, 1, 1, 0, v->stream, params, NULL));
	return blocks * 256;
}

static void run_vecadd(int launches)
{
	static const uint32_t sizes[] = { ELEMENTS, 1000, 256, 1 };
	CUfunction f = function("vecadd");
	struct vectors v[2];
	unsigned long threads = 0;

	make_vectors(&v[0]);
	make_vectors(&v[1]);
	for (int i = 0; i < launches; i++) {
		threads += add(f, &v[i & 1], sizes[i / 2 % 4]);
		if (i % 16 == 15)
			CHECK(cuStreamSynchronize(v[i & 1].stream));
	}
	CHECK(cuCtxSynchronize());
	printf("launches %d threads %lu checksum %08x %08x\n", launches, threads,
	       checksum(&v[0], launches ? ELEMENTS : 0), checksum(&v[1], launches > 1 ? ELEMENTS : 0));
	free(v[0].host);
	free(v[1].host);
}

static sigset_t awaited(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return set;
}

static void block_signal(void)
{
	sigset_t set = awaited();

	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void await_signal(void)
{
	sigset_t set = awaited();
	int number;

	sigwait(&set, &number);
}

static void run_spin(char **times)
{
	CUfunction f = function("spin");
	int count;

	for (count = 0; times[count]; count++) {
		uint64_t ns = strtoull(times[count], NULL, 0);
		void *params[] = { &ns };

		if (!strcmp(times[count], "signal")) {
			await_signal();
			continue;
		}
		CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		CHECK(cuCtxSynchronize());
	}
	printf("spun %d times\n", count);
}

static void run_exits(void)
{
	CUfunction f = function("exits");
	uint32_t host[96];
	CUdeviceptr out;
	void *params[] = { &out };

	CHECK(cuMemAlloc_v2(&out, sizeof(host)));
	CHECK(cuMemsetD8_v2(out, 0, sizeof(host)));
	CHECK(cuLaunchKernel(f, 1, 1, 1, 96, 1, 1, 0, NULL, params, NULL));
	CHECK(cuMemcpyDtoH_v2(host, out, sizeof(host)));
	for (uint32_t i = 0; i < 96; i++) {
		if (host[i] != 10 + (i & 3)) {
			fprintf(stderr, "target: thread %u left as %u\n", i, host[i]);
			_exit(5);
		}
	}
	printf("96 threads left by 4 ways\n");
}

static uint32_t read_counter(void)
{
	CUdeviceptr address;
	uint32_t value;
	size_t size;

	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, address, 4));
	return value;
}

/* What the driver says of a kernel's parameters must not depend on who else looks. */
static unsigned count_params(CUfunction f)
{
	unsigned count = 0;
	size_t offset, size;

	while (cu.cuFuncGetParamInfo && !cu.cuFuncGetParamInfo(f, count, &offset, &size))
		count++;
	return count;
}

static void run_buffer(void)
{
	struct {
		CUdeviceptr a, b, out;
		uint32_t n;
	} buffer;
	size_t size = offsetof(__typeof__(buffer), n) + 4;	/* no more than the parameters are */
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = { .gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
				  .blockDimY = 1, .blockDimZ = 1 };
	struct vectors v;

	make_vectors(&v);
	buffer.a = v.a;
	buffer.b = v.b;
	buffer.out = v.out;
	buffer.n = 500;
	CHECK(cuLaunchKernel(function("vecadd"), 2, 1, 1, 256, 1, 1, 0, v.stream, NULL, extra));
	CHECK(cuStreamSynchronize(v.stream));
	CHECK(cuLaunchKernel(function("bump"), 3, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuLaunchKernelEx(&config, function("bump"), NULL, NULL));
	CHECK(cuCtxSynchronize());
	printf("buffer checksum %08x counter %u parameters %u %u\n", checksum(&v, 500), read_counter(),
	       count_params(function("vecadd")), count_params(function("bump")));
}

/* As the vendor's FFT library does it; by the exported functions where there is no such table. */
static void run_private(void)
{
	static const struct {
		size_t size;
		CUresult (*module_function)(CUfunction *, CUmodule, const char *);
		CUresult (*library_kernel)(CUkernel *, CUlibrary, const char *);
		CUresult (*kernel_function)(CUfunction *, CUkernel);
	} *table;
	CUdeviceptr counter;
	CUfunction handles[3];
	CUlibrary library;
	CUkernel kernel;
	const void *found = NULL;
	uint32_t value;
	CUuuid id;
	size_t size;

	memcpy(&id, "gputrace-private", sizeof(id));
	if (cu.cuGetExportTable(&found, &id))
		found = NULL;
	table = found;
	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	check(table ? table->module_function(&handles[0], module, "bump") :
		      cu.cuModuleGetFunction(&handles[0], module, "bump"), "the function of a module");
	check(table ? table->library_kernel(&kernel, library, "bump") :
		      cu.cuLibraryGetKernel(&kernel, library, "bump"), "the kernel of a library");
	handles[1] = (CUfunction)kernel;
	check(table ? table->kernel_function(&handles[2], kernel) :
		      cu.cuKernelGetFunction(&handles[2], kernel), "the function of a kernel");
	/* That of the library first: its kernel is still unknown then. */
	for (int i = 2; i >= 0; i--)
		CHECK(cuLaunchKernel(handles[i], 1, 1, 1, 32u << i, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuLibraryGetGlobal(&counter, &size, library, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, counter, 4));
	printf("private counters %u %u\n", read_counter(), value);
}

static void run_graph(int replays)
{
	CUfunction vecadd = function("vecadd"), bump = function("bump");
	CUDA_KERNEL_NODE_PARAMS_v2 node = { .func = bump, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
					    .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1 };
	CUgraphNode first, second;
	CUgraph captured, built;
	CUgraphExec exec[2];
	struct vectors v;

	make_vectors(&v);
	CHECK(cuStreamBeginCapture_v2(v.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	add(vecadd, &v, 1000);
	add(vecadd, &v, 2000);
	CHECK(cuLaunchKernel(bump, 1, 1, 1, 32, 1, 1, 0, v.stream, NULL, NULL));
	CHECK(cuStreamEndCapture(v.stream, &captured));
	CHECK(cuGraphCreate(&built, 0));
	CHECK(cuGraphAddKernelNode_v2(&first, built, NULL, 0, &node));
	node.blockDimX = 64;
	CHECK(cuGraphAddKernelNode_v2(&second, built, &first, 1, &node));
	CHECK(cuGraphInstantiateWithFlags(&exec[0], captured, 0));
	CHECK(cuGraphInstantiateWithFlags(&exec[1], built, 0));
	for (int i = 0; i < replays; i++) {
		CHECK(cuGraphLaunch(exec[0], v.stream));
		CHECK(cuGraphLaunch(exec[1], v.stream));
	}
	CHECK(cuStreamSynchronize(v.stream));
	printf("graph checksum %08x counter %u\n", checksum(&v, 2000), read_counter());
}

static void launch_bump(CUfunction f, unsigned threads)
{
	CHECK(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
}

static void run_files(void)
{
	char path[] = "/tmp/gt-target-XXXXXX";
	int fd = mkstemp(path);
	CUlibrary library;
	CUfunction f;
	CUkernel kernel;
	CUmodule other;

	printf("an empty file: %d, none: %d\n", cu.cuModuleLoad(&other, path) == CUDA_SUCCESS,
	       cu.cuModuleLoad(&other, "/no/such/file") == CUDA_SUCCESS);
	if (write(fd, ptx, strlen(ptx)) != (ssize_t)strlen(ptx))
		_exit(3);
	CHECK(cuModuleUnload(module));
	CHECK(cuModuleLoad(&module, path));
	CHECK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	unlink(path);
	launch_bump(function("bump"), 32);
	CHECK(cuLibraryGetKernel(&kernel, library, "bump"));
	CHECK(cuKernelGetFunction(&f, kernel));
	launch_bump(f, 64);
	printf("counter %u\n", read_counter());
	CHECK(cuLibraryUnload(library));
}

/* Whoever opens it takes what its writer has for the driver. */
static void run_pipe(void)
{
	char folder[] = "/tmp/gt-target-XXXXXX", path[40], events[4096];
	int watch = inotify_init1(IN_NONBLOCK), both;
	CUresult result;
	CUmodule other;

	snprintf(path, sizeof(path), "%s/pipe", mkdtemp(folder));
	if (mkfifo(path, 0600))
		_exit(3);
	both = open(path, O_RDWR);
	inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE);
	result = cu.cuModuleLoad(&other, path);
	printf("CUresult %d, opened and closed: %zd\n", (int)result,
	       read(watch, events, sizeof(events)) / (ssize_t)sizeof(struct inotify_event));
	unlink(path);
	rmdir(folder);
	close(both);
	close(watch);
}

static void run_reload(int times)
{
	uint32_t total = 0;

	for (int i = 0; i < times; i++) {
		CHECK(cuLaunchKernel(function("bump"), 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cuCtxSynchronize());
		total += read_counter();
		CHECK(cuModuleUnload(module));
		CHECK(cuModuleLoadData(&module, ptx));
	}
	printf("reloaded %d times, counters sum to %u\n", times, total);
}

static int launches_per_thread;

static void *launch_many(void *f)
{
	CHECK(cuCtxSetCurrent(primary));
	for (int i = 0; i < launches_per_thread; i++)
		CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	return NULL;
}

static void run_threads(int launches)
{
	CUfunction f = function("bump");
	pthread_t threads[4];

	launches_per_thread = launches;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, launch_many, f);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(cuCtxSynchronize());
	printf("counter %u\n", read_counter());
}

static void run_fork(void)
{
	pid_t child = fork();
	int status;

	/* Both initialise CUDA after the fork, which is how it works. */
	start();
	CHECK(cuLaunchKernel(function("bump"), 1, 1, 1, child ? 32 : 64, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
	if (!child) {
		if (read_counter() != 69)
			_exit(5);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d, counter %u\n", status, read_counter());
}

static void run_contexts(void)
{
	CUcontext other;
	CUfunction f = function("bump");
	uint32_t first;

	CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	first = read_counter();
	CHECK(cuCtxCreate_v2(&other, 0, 0));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuLaunchKernel(function("bump"), 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
	printf("counters %u %u", first, read_counter());
	CHECK(cuCtxDestroy_v2(other));
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
	printf(" done\n");
}

static const char wait_ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry wait(.param .u64 flag)\n{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %r;\n"
	"	.reg .b64 %rd;\n"
	"	ld.param.u64 %rd, [flag];\n"
	"again:\n"
	"	ld.volatile.global.u32 %r, [%rd];\n"
	"	setp.eq.u32 %p, %r, 0;\n"
	"	@%p bra again;\n"
	"	ret;\n}\n";

/* One of two who hold the context lets go of it, while a kernel waits for what comes after that. */
static void release_shared(void)
{
	CUcontext same;
	CUmodule other;
	CUfunction f;
	CUdeviceptr address;
	uint32_t *flag;
	void *params[] = { &address };

	CHECK(cuDevicePrimaryCtxRetain(&same, 0));
	CHECK(cuMemHostAlloc((void **)&flag, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	CHECK(cuMemHostGetDevicePointer_v2(&address, flag, 0));
	*flag = 0;
	CHECK(cuModuleLoadData(&other, wait_ptx));
	CHECK(cuModuleGetFunction(&f, other, "wait"));
	CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CHECK(cuDevicePrimaryCtxRelease_v2(0));
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	CHECK(cuCtxSynchronize());
}

/* The last kernel enters long after the end of its context has begun. */
static void run_ends(const char *how)
{
	uint64_t ns = 200000000;
	void *params[] = { &ns };
	CUcontext context = primary;
	CUresult refused;

	if (!strcmp(how, "destroy")) {
		CHECK(cuCtxCreate_v2(&context, 0, 0));
		CHECK(cuModuleLoadData(&module, ptx));
	}
	CHECK(cuLaunchKernel(function("spin"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	CHECK(cuLaunchKernel(function("bump"), 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	if (!strcmp(how, "destroy")) {
		CHECK(cuCtxDestroy_v2(context));
	} else if (!strcmp(how, "reset")) {
		CHECK(cuDevicePrimaryCtxReset_v2(0));
	} else if (!strcmp(how, "release")) {
		CHECK(cuDevicePrimaryCtxRelease_v2(0));
	} else if (!strcmp(how, "shared")) {
		release_shared();
	} else {
		refused = cu.cuCtxDestroy_v2(primary);
		CHECK(cuLaunchKernel(function("bump"), 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cuCtxSynchronize());
		printf("CUresult %d, counter %u, ", (int)refused, read_counter());
	}
	printf("done\n");
}

static void run_global(void)
{
	CUfunction f = function("bump");

	for (int i = 0; i < 3; i++) {
		printf("counter %u\n", read_counter());
		CHECK(cuLaunchKernel(f, 2, 1, 1, 50, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cuCtxSynchronize());
	}
	printf("counter %u\n", read_counter());
}

static void run_leave(const char *how)
{
	uint64_t ns = 600000000000;
	void *params[] = { &ns };

	if (!strcmp(how, "early")) {
		CHECK(cuLaunchKernel(function("spin"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		for (int i = 0; i < 2; i++)
			CHECK(cuLaunchKernel(function("bump"), 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
		raise(SIGKILL);
	}
	run_vecadd(2);
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
}

#define PAIRS 40

/* Whoever else still used the old numbers would read or write here. */
static void run_descriptors(void)
{
	int pairs[PAIRS][2], whole = 0;
	char bytes[64], message[24] = "a message of 24 bytes..";

	run_vecadd(4);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < PAIRS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pairs[i]))
			_exit(5);
		send(pairs[i][0], message, sizeof(message), 0);
		send(pairs[i][1], message, sizeof(message), 0);
	}
	usleep(200000);
	run_vecadd(4);
	for (int i = 0; i < 2 * PAIRS; i++) {
		int fd = pairs[i / 2][i % 2];

		whole += recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) == sizeof(message) &&
			 recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0;
	}
	printf("%d of %d sockets whole\n", whole, 2 * PAIRS);
}

static uint64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whatever its threads do while it waits, it is not to compute all the time. */
static void run_confined(void)
{
	struct rlimit before, none;
	uint64_t used;

	getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){ 0, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	run_vecadd(4);
	used = used_ns();
	usleep(1000000);
	printf("%s\n", used_ns() - used < 500000000 ? "idle" : "busy");
	/* The leak checker of a build with sanitizers would try to open its files for ever. */
	setrlimit(RLIMIT_NOFILE, &before);
}

/* What it opens is where its streams were, and what it writes to a closed one goes nowhere. */
static void run_streams(void)
{
	int written = (int)write(2, "?", 1), first = dup(fileno(stdout)), second = dup(first);

	run_vecadd(4);
	printf("wrote %d, opened %d %d\n", written, first, second);
}

static atomic_bool live_over;
static atomic_long live_launches;
static CUkernel live_kernel;

static void *launch_until_over(void *f)
{
	uint64_t ns = 1;
	void *params[] = { &ns };

	CHECK(cuCtxSetCurrent(primary));
	for (unsigned i = 0; !atomic_load(&live_over); i++) {
		CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		atomic_fetch_add(&live_launches, 1);
		if (i % 16 == 15) {
			CHECK(cuLaunchKernel((CUfunction)live_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
			CHECK(cuCtxSynchronize());
		}
	}
	return NULL;
}

/* Each of the threads may be in a launch that it began before. */
static void await_launches(int threads)
{
	long until = atomic_load(&live_launches) + threads + 1;

	while (threads && atomic_load(&live_launches) < until)
		usleep(1000);
}

/* A line came: load, run once, and say what the counter is; the image is one that nobody has seen. */
static void run_another(unsigned number, int threads)
{
	CUdeviceptr address;
	CUmodule other;
	CUfunction f;
	uint32_t value;
	size_t size;
	char *text;

	if (asprintf(&text, "%s// %u\n", ptx, number) < 0)
		_exit(5);
	CHECK(cuModuleLoadData(&other, text));
	CHECK(cuModuleGetFunction(&f, other, "bump"));
	CHECK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuModuleGetGlobal_v2(&address, &size, other, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, address, 4));
	await_launches(threads);
	printf("another %u\n", value);
	fflush(stdout);
	CHECK(cuModuleUnload(other));
	free(text);
}

static void run_live(int threads_wanted)
{
	CUfunction f = function("bump");
	pthread_t threads[16];
	CUlibrary library;
	char line[64];
	int count = threads_wanted < 16 ? threads_wanted : 16;

	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&live_kernel, library, "spin"));
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, launch_until_over, f);
	printf("ready\n");
	fflush(stdout);
	for (unsigned i = 0; fgets(line, sizeof(line), stdin) && line[0] != '.'; i++)
		run_another(i, count);
	atomic_store(&live_over, true);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	CHECK(cuCtxSynchronize());
	printf("%s\n", read_counter() - 5 == (uint32_t)(32 * atomic_load(&live_launches)) ? "exact" : "wrong");
}

static void *run_headless(void *threads)
{
	bool ended = false;

	/* Once the main thread has no memory any more. */
	while (!ended) {
		FILE *maps = fopen("/proc/self/maps", "r");

		ended = !maps || getc(maps) == EOF;
		if (maps)
			fclose(maps);
	}
	CHECK(cuCtxSetCurrent(primary));
	run_live((int)(intptr_t)threads);
	exit(0);
}

static void become_headless(int threads)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run_headless, (void *)(intptr_t)threads);
	pthread_exit(NULL);
}

static int leaks_are_expected;

/*
 * The leak checker of a build with sanitizers asks.  At the end of a child that has no other threads it would
 * wait for locks of the allocator that one of them may have held in the parent.
 */
__attribute__((visibility("default")))
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return leaks_are_expected;
}

static int run_clone(void)
{
	pid_t child;
	int status;

	run_vecadd(2);
	fflush(stdout);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (!child) {
		leaks_are_expected = 1;
		return 9;
	}
	waitpid(child, &status, 0);
	printf("child %x\n", (unsigned)status);
	run_vecadd(2);
	return 0;
}

/* Serve a controller that says nothing. */
static int ask_agent(void)
{
	int (*attach)(int fd) = (int (*)(int))gputrace_agent_find("gputrace_agent_attach");
	int ends[2];

	return attach && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) ? attach(ends[0]) : 0;
}

static void *ask_again(void *unused)
{
	ask_agent();
	return unused;
}

static void run_asked(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	run_vecadd(2);
	fflush(stdout);
	pthread_create(&thread, NULL, ask_again, NULL);
	/* It waits for two seconds then, in case that the other one is about to go. */
	usleep(300000);
	child = fork();
	if (!child) {
		int r;

		alarm(120);
		r = ask_agent();
		_exit(r && r != -ECHILD);
	}
	waitpid(child, &status, 0);
	pthread_join(thread, NULL);
	printf("child %x\n", (unsigned)status);
	run_vecadd(2);
}

/* What it is before it starts with CUDA. */
static void prepare(const char *what)
{
	if (!strcmp(what, "alarm"))
		ring_alarm();
	else if (!strcmp(what, "spin"))
		block_signal();
	else if (!strcmp(what, "poor"))
		become_poor();
	else if (!strcmp(what, "greedy"))
		take_keys();
	else if (!strcmp(what, "streams"))
		close_streams(STDIN_FILENO);
	else if (!strcmp(what, "mute"))
		close_streams(STDOUT_FILENO);
	else if (!strcmp(what, "drop"))
		drop_privileges();
	else if (!strcmp(what, "knock"))
		knock();
}

static int run(const char *what, int number, char **words)
{
	if (!strcmp(what, "poor") || !strcmp(what, "greedy") || !strcmp(what, "drop") || !strcmp(what, "knock"))
		run_vecadd(4);
	else if (!strcmp(what, "vecadd") || !strcmp(what, "alarm"))
		run_vecadd(number);
	else if (!strcmp(what, "spin"))
		run_spin(words);
	else if (!strcmp(what, "exits"))
		run_exits();
	else if (!strcmp(what, "buffer"))
		run_buffer();
	else if (!strcmp(what, "private"))
		run_private();
	else if (!strcmp(what, "files"))
		run_files();
	else if (!strcmp(what, "graph"))
		run_graph(number);
	else if (!strcmp(what, "pipe"))
		run_pipe();
	else if (!strcmp(what, "reload"))
		run_reload(number);
	else if (!strcmp(what, "threads"))
		run_threads(number);
	else if (!strcmp(what, "contexts"))
		run_contexts();
	else if (!strcmp(what, "ends"))
		run_ends(words[0] ? words[0] : "destroy");
	else if (!strcmp(what, "global"))
		run_global();
	else if (!strcmp(what, "descriptors"))
		run_descriptors();
	else if (!strcmp(what, "confined"))
		run_confined();
	else if (!strcmp(what, "streams"))
		run_streams();
	else if (!strcmp(what, "headless"))
		become_headless(number);
	else if (!strcmp(what, "live") || !strcmp(what, "lie") || !strcmp(what, "mute"))
		run_live(number);
	else if (!strcmp(what, "asked"))
		run_asked();
	else if (!strcmp(what, "clone"))
		return run_clone();
	else if (!strcmp(what, "leave"))
		run_leave(words[0] ? words[0] : "return");
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "vecadd";
	int number = argc > 2 ? atoi(argv[2]) : 10;

	find_driver();
	if (!strcmp(what, "fork")) {
		run_fork();
		return 0;
	}
	prepare(what);
	start();
	if (!strcmp(what, "live") && argc > 3)
		forbid(atoi(argv[3]));
	if (!strcmp(what, "lie"))
		lie(argv[3]);
	return run(what, number, argv + (argc > 2 ? 2 : argc));
}
