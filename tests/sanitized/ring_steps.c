// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rings of several CPUs, step by step, for AddressSanitizer: a command is a line on standard input, its
 * answer a line on standard output. What is read comes as hexadecimal digits.
 *
 *   new BYTES RECORDS     other rings; RECORDS: each print is one, with --format
 *   print CPU BYTES TEXT  a print in the hit of this CPU: TEXT, and dots up to so many bytes
 *   fail CPU BYTES TEXT   the same, and the hit ends by an error before the print does
 *   inside CPU ON         whether the hit is one of a begin probe
 *   commit CPU            the hit ends
 *   overwrite ON          the oldest gives way
 *   claim CPU, release CPU  as a reader that is at it
 *   later SECONDS         the clock goes on
 *   read BYTES, bulk CPU BYTES  a reader's read(), from a buffer of just that size
 *   stop                  the session is over
 *   losses                bytes by cause, then prints
 */
#include "internal.h"

struct stapy_session stapy_session;
struct stapy_cpu *stapy_cpus;

static bool made;

static void renew(size_t bytes, bool records)
{
	if (made)
		stapy_rings_free();
	memset(stapy_cpus, 0, CPUS * sizeof(*stapy_cpus));
	stapy_session.limits.buffer_bytes = bytes;
	stapy_session.records = records ? "" : NULL;
	stapy_rings_overwrite(false);
	atomic_set_release(&stapy_session.state, STAPY_RUNNING);
	stapy_rings_size();
	if (stapy_rings_alloc())
		exit(2);
	made = true;
}

static void begin_print(struct stapy_context *c, size_t bytes, const char *text)
{
	struct stapy_out *o = stapy_print_begin(c);

	stapy_out_plain(o, text);
	stapy_out_pad(o, '.', bytes - strlen(text));
}

static void print(struct stapy_context *c, size_t bytes, const char *text)
{
	begin_print(c, bytes, text);
	stapy_print_end(c);
}

static void commit(struct stapy_context *c)
{
	if (c->printed)
		stapy_ring_commit(c);
	c->printed = false;
}

static void say_read(const char *data, ssize_t n)
{
	ssize_t i;

	if (n < 0) {
		printf("%zd\n", n);
		return;
	}
	for (i = 0; i < n; i++)
		printf("%02x", (unsigned char)data[i]);
	putchar('\n');
}

static void fail(struct stapy_context *c, size_t bytes, const char *text)
{
	begin_print(c, bytes, text);
	commit(c);
}

static void read_some(int cpu, size_t bytes)
{
	char *data = malloc(bytes);	/* a byte too many is reported */
	bool more;

	say_read(data, cpu < 0 ? stapy_rings_read(data, bytes, &more) :
				 stapy_ring_read_bulk(cpu, data, bytes, &more));
	free(data);
}

static void say_losses(void)
{
	int i;

	for (i = 0; i < STAPY_LOSSES; i++)
		printf("%llu ", stapy_rings_lost(i));
	printf("%llu\n", stapy_rings_failures());
}

static void obey(const char *line)
{
	unsigned long a = 0, b = 0;
	char word[16] = "", text[64] = "";

	sscanf(line, "%15s %lu %lu %63s", word, &a, &b, text);
	if (strcmp(word, "new") && strcmp(word, "read") && strcmp(word, "later"))
		shim_cpu = a % CPUS;
	if (!strcmp(word, "read") || !strcmp(word, "bulk")) {
		read_some(*word == 'b' ? (int)a : -1, *word == 'b' ? b : a);
		return;
	}
	if (!strcmp(word, "losses")) {
		say_losses();
		return;
	}
	if (!strcmp(word, "new"))
		renew(a, b);
	else if (!strcmp(word, "print"))
		print(&stapy_cpus[a].c, b, text);
	else if (!strcmp(word, "fail"))
		fail(&stapy_cpus[a].c, b, text);
	else if (!strcmp(word, "inside"))
		stapy_cpus[a].c.interruptible = b;
	else if (!strcmp(word, "commit"))
		commit(&stapy_cpus[a].c);
	else if (!strcmp(word, "overwrite"))
		stapy_rings_overwrite(a);
	else if (!strcmp(word, "claim"))
		stapy_ring_claim(&stapy_cpus[a].ring);
	else if (!strcmp(word, "release"))
		stapy_ring_release(&stapy_cpus[a].ring);
	else if (!strcmp(word, "later"))
		shim_ahead_ns += a * NSEC_PER_SEC;
	else if (!strcmp(word, "stop"))
		atomic_set_release(&stapy_session.state, STAPY_STOPPED);
	else
		exit(2);
	puts("");
}

int main(void)
{
	char *line = NULL;
	size_t bytes = 0;

	stapy_cpus = aligned_alloc(64, CPUS * sizeof(*stapy_cpus));
	while (getline(&line, &bytes, stdin) > 0) {
		obey(line);
		fflush(stdout);
	}
	free(line);
	if (made)
		stapy_rings_free();
	free(stapy_cpus);
	return 0;
}
