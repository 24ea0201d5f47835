/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_readers.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- arrays and statistics --- */

static struct stapy_map *g_reads;
static struct stapy_map *g_bytes;

static struct stapy_storage storage[] = {
	{
		.name = "reads",
		.map = &g_reads,
		.value = STAPY_LONG,
		.nkeys = 2,
		.keys = { STAPY_STRING, STAPY_LONG },
	},
	{
		.name = "bytes",
		.map = &g_bytes,
		.value = STAPY_LONG,
		.nkeys = 2,
		.keys = { STAPY_STRING, STAPY_LONG },
	},
};

/* --- locks --- */

static struct stapy_lock lock_reads;
static struct stapy_lock lock_bytes;

/* --- places of errors --- */

static const char at_4_2[] = "identifier 'reads' at top_readers.stp:4:2";
static const char at_5_2[] = "identifier 'bytes' at top_readers.stp:5:2";
static const char at_9_2[] = "keyword at top_readers.stp:9:2";
static const char at_10_3[] = "identifier 'printf' at top_readers.stp:10:3";
static const char at_11_2[] = "keyword at top_readers.stp:11:2";

/* --- functions --- */

static void f_execname(struct stapy_context *c, char *ret);
static inline s64 f_pid(struct stapy_context *c);

/* function execname at library.stp:10:10 */
static void f_execname(struct stapy_context *c, char *ret)
{
	ret[0] = '\0';
#define STAP_RETVALUE (*(char (*)[MAXSTRINGLEN])ret)
	{
#line 10 "library.stp"
 /* pure */ /* stable */
	stapy_copy(STAP_RETVALUE, current->comm, MAXSTRINGLEN);
#line 59 "top_readers.c"
	}
#undef STAP_RETVALUE
}

/* function pid at library.stp:14:10 */
static inline s64 f_pid(struct stapy_context *c) { return current->tgid; }

/* --- handlers --- */

static const struct stapy_lock_row locks_vfs_read[] = {
	{ &lock_bytes, true, "bytes" },
	{ &lock_reads, true, "reads" },
};

/*
 * probe at top_readers.stp:3:1:
 *   kernel.function("vfs_read")
 * locks: bytes (write), reads (write)
 */
static void h_vfs_read(struct stapy_context *c)
{
	struct {
		char execname[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[2];
	s64 pid, *slot;

	if (!stapy_lock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read)))
		return;

	/* top_readers.stp:4: reads[execname(), pid()]++ */
	f_execname(c, l->execname);
	pid = f_pid(c);
	keys[0].s = l->execname;
	keys[1].n = pid;
	slot = stapy_map_slot(c, g_reads, keys, at_4_2);
	if (!slot)
		goto out;
	(*slot)++;

	/* top_readers.stp:5: bytes[execname(), pid()] += $count */
	keys[0].s = l->execname;
	keys[1].n = pid;
	slot = stapy_map_slot(c, g_bytes, keys, at_5_2);
	if (!slot)
		goto out;
	*slot += (s64)c->regs->dx;
out:
	stapy_unlock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read));
}

/*
 * probe at top_readers.stp:8:1:
 *   timer.s(5)
 * locks: bytes (write), reads (write)
 */
static void h_timer_s_5(struct stapy_context *c)
{
	struct {
		char name[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[2];
	struct stapy_iter iter;
	struct stapy_out *out;
	s64 id = 0, reads_, bytes;

	l->name[0] = '\0';
	if (!stapy_lock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read)))
		return;

	/* top_readers.stp:9: foreach ([name, id] in reads- limit 10) */
	if (!stapy_act(c, 1, at_9_2))
		goto out;
	stapy_iter_start(&iter, g_reads, 1, 0, true, 10, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		stapy_copy(l->name, stapy_iter_key_string(&iter, 0), sizeof(l->name));
		id = stapy_iter_key_long(&iter, 1);

		/* top_readers.stp:10: printf("%s(%d) %d %d\n", name, id, reads[name, id], bytes[name, id]) */
		if (!stapy_act(c, 2, at_10_3))
			goto out;
		keys[0].s = l->name;
		keys[1].n = id;
		reads_ = stapy_map_get_long(g_reads, keys);
		keys[0].s = l->name;
		keys[1].n = id;
		bytes = stapy_map_get_long(g_bytes, keys);
		out = stapy_print_begin(c);
		stapy_out_string(out, l->name, 0, 0, -1);
		stapy_out_text(out, "(", 1);
		stapy_out_long(out, id, 'd', 0, 0, -1);
		stapy_out_text(out, ") ", 2);
		stapy_out_long(out, reads_, 'd', 0, 0, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_long(out, bytes, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* top_readers.stp:11: delete reads */
	if (!stapy_act(c, 2, at_11_2))
		goto out;
	stapy_map_clear(g_reads);

	/* top_readers.stp:12: delete bytes */
	stapy_map_clear(g_bytes);
out:
	stapy_unlock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "top_readers.stp:3:1",
	},
	[1] = {
		.handler = h_timer_s_5,
		.written = "timer.s(5)",
		.alias = "timer.s(5)",
		.place = "top_readers.stp:8:1",
	},
};

static struct stapy_timer_row timer_rows[] = {
	/* timer.s(5) */
	{
		.site = { &probes[1], "timer.s(5)" },
		.interval = 5000000000LL,
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read") */
	{
		.site = { &probes[0], "kernel.function(\"vfs_read\")" },
		.symbol = "vfs_read",
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_timer, timer_rows, ARRAY_SIZE(timer_rows) },
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "top_readers",
	.script = "top_readers.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 512,
};
