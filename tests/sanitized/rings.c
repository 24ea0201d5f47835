// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rings of several CPUs, written and read at the same time, for ThreadSanitizer, and an array
 * behind its lock: rings HITS BYTES READER [SEED], where READER is "fast", "slow", "late", or "recorder",
 * which comes and goes by chance and lets old records be overwritten meanwhile. On standard output
 * what a consumer would have read; on standard error, for each CPU, what was printed.
 */
#include "internal.h"

static struct stapy_map *counts;
static struct stapy_storage storage[] = {
	{ .name = "counts", .map = &counts, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_LONG },
	  .size = 64 },
};

struct stapy_session stapy_session = {
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.limits = { .maxtrylock = 1000, .trylockdelay = 1 },
};
struct stapy_cpu *stapy_cpus;

static struct stapy_lock lock;
static const struct stapy_lock_row rows[] = { { .lock = &lock, .write = true, .name = "counts" } };
static unsigned int hits, left = CPUS;
static u64 printed[CPUS], skipped[CPUS], ticket;
static unsigned int seed, hits_done;

static void print(struct stapy_context *c, const char *s, size_t n)
{
	stapy_out_text(stapy_print_begin(c), s, n);
	stapy_print_end(c);
	printed[shim_cpu] += n;
}

/*
 * One hit: lines of its CPU in a row, and one with a ticket. Records are stamped when they are
 * opened, so tickets, which are drawn behind that and under the lock, are in order in the output.
 */
static void hit(struct stapy_context *c, unsigned int n)
{
	union stapy_key key = { .n = n % 80 };
	char line[256];
	s64 *slot;

	if (!stapy_lock(c, rows, 1)) {
		skipped[shim_cpu]++;
		return;
	}
	print(c, "", 0);
	slot = stapy_map_slot(c, counts, &key, "here");
	if (slot)
		++*slot;
	c->error = NULL;
	if (n % 7 == 0)
		stapy_map_delete(counts, &key);
	print(c, line, sprintf(line, "%d %u %llu %*s\n", shim_cpu, n, ticket++, n % 150, ""));
	stapy_unlock(c, rows, 1);
	if (n % 3 == 0)
		print(c, line, sprintf(line, "%d %u also\n", shim_cpu, n));
	stapy_ring_commit(c);
}

static void *write_all(void *cpu)
{
	unsigned int n, chance = seed + (intptr_t)cpu;
	struct stapy_context *c;

	shim_cpu = (intptr_t)cpu;
	c = &this_cpu_ptr(stapy_cpus)->c;
	for (n = 0; n < hits; n++) {
		hit(c, n);
		__atomic_fetch_add(&hits_done, 1, __ATOMIC_RELAXED);
		if (seed && rand_r(&chance) % 64 == 0)
			usleep(rand_r(&chance) % 200);
	}
	__atomic_fetch_sub(&left, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Read once; false when there was nothing and nothing will come. */
static bool read_some(bool last)
{
	/* Small and large, so that records are cut. */
	static const size_t sizes[] = { 4096, 100, 65536, 70 };
	static char text[65536];
	static unsigned int turn;
	bool more;
	ssize_t n;

	if (last)
		atomic_set_release(&stapy_session.state, STAPY_STOPPED);
	n = stapy_rings_read(text, sizes[turn++ % ARRAY_SIZE(sizes)], &more);
	if (n < 0)
		exit(3);
	fwrite(text, 1, n, stdout);
	return n || !last || stapy_rings_readable();
}

static bool all_written(void)
{
	return !__atomic_load_n(&left, __ATOMIC_ACQUIRE);
}


/* Until so many more hits are written, or all. */
static void wait_for_hits(unsigned int n)
{
	unsigned int from = READ_ONCE(hits_done);

	while (READ_ONCE(hits_done) - from < n && !all_written())
		usleep(50);
}

static void *read_all(void *slow)
{
	shim_cpu = -1;
	for (;;) {
		bool last = all_written();

		if (!read_some(last))
			return NULL;
		/* More than small rings have room for. */
		if (slow)
			wait_for_hits(1000);
	}
}

/*
 * Attached and not, in turns; who is not attached may read all the same. At first nobody comes
 * for so long that records have to give way.
 */
static void *read_at_times(void *unused)
{
	unsigned int chance = seed, reads;

	shim_cpu = -1;
	wait_for_hits(CPUS * hits / 2);
	while (!all_written()) {
		bool attached = rand_r(&chance) % 3 == 0;

		stapy_rings_overwrite(!attached);
		wait_for_hits(rand_r(&chance) % 1000);
		for (reads = attached ? 20 : rand_r(&chance) % 4; reads; reads--)
			read_some(false);
	}
	while (read_some(true))
		;
	return NULL;
}

/* Nobody comes before the end. */
static void *read_late(void *unused)
{
	while (!all_written())
		usleep(1000);
	return read_all(NULL);
}

static void *(*reader_of(const char *name))(void *)
{
	if (!strcmp(name, "late"))
		return read_late;
	return strcmp(name, "recorder") ? read_all : read_at_times;
}

int main(int argc, char **argv)
{
	pthread_t writers[CPUS], reader;
	intptr_t cpu;

	if (argc < 4)
		return 2;
	seed = argc > 4 ? atoi(argv[4]) : 0;
	hits = atoi(argv[1]);
	stapy_session.limits.buffer_bytes = atoi(argv[2]);
	stapy_cpus = aligned_alloc(64, CPUS * sizeof(*stapy_cpus));
	memset(stapy_cpus, 0, CPUS * sizeof(*stapy_cpus));
	stapy_rings_size();
	if (stapy_maps_plan() || stapy_maps_alloc() || stapy_rings_alloc())
		return 2;
	stapy_rings_overwrite(seed);
	pthread_create(&reader, NULL, reader_of(argv[3]), strcmp(argv[3], "slow") ? NULL : argv[3]);
	for (cpu = 0; cpu < CPUS; cpu++)
		pthread_create(&writers[cpu], NULL, write_all, (void *)cpu);
	for (cpu = 0; cpu < CPUS; cpu++)
		pthread_join(writers[cpu], NULL);
	pthread_join(reader, NULL);
	for (cpu = 0; cpu < CPUS; cpu++)
		fprintf(stderr, "%zd %llu %llu\n", cpu, printed[cpu], skipped[cpu]);
	stapy_rings_free();
	stapy_maps_free();
	free(stapy_cpus);
	return 0;
}
