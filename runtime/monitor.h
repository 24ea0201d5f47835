/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a monitor asks of a session while it runs: for tapsets/core/monitor.stp and the script of
 * stapy/session/monitor.py. It is asked with interrupts off, so a look comes in parts: each is a hit
 * of its own that ends soon, and says where the next one goes on.
 */
#ifndef STAPY_MONITOR_H
#define STAPY_MONITOR_H

struct stapy_context;
struct stapy_entry;
struct stapy_map;
struct stapy_stat;
struct stapy_stat_shape;
struct stapy_statvar;

#define STAPY_SHOWN 20			/* elements of an array, those with the highest values */

/* Where a look is; it belongs to the reader or writer of the file. */
struct stapy_monitor_look {
	bool quiet;			/* it is one: no interrupt is to come between */
	bool unfinished;		/* there is to be another hit */
	bool moved;			/* this one got on: it had its locks */
	unsigned int part;		/* the script's number of what is to be told next */
	u64 until;			/* stapy_stamp() when this hit is to end */
	/* While an array is looked through, or emptied: */
	bool begun, chosen;
	int cpu;			/* whose table, -1: there is only one */
	unsigned int bucket;		/* of the table; or how many elements were taken out */
	unsigned int count, told;	/* of the elements below */
	struct stapy_entry *best[STAPY_SHOWN];
	int cpus[STAPY_SHOWN];		/* whose table each is in */
	s64 ranks[STAPY_SHOWN];
};

/* Begin a part: interrupts are off from here on, there is no bound but its time, locks are hardly waited for. */
void stapy_monitor_begin(struct stapy_context *c);
/* Is this part to end? */
bool stapy_monitor_late(struct stapy_context *c);
/* Go on with another part, in this hit or the next. */
void stapy_monitor_go(struct stapy_context *c, s64 part);

/*
 * Append `prefix` and the elements with the highest values as JSON; or take all elements out. The lock
 * is held as a writer's, but not from one part to the next. False: to be called again in another part.
 */
bool stapy_monitor_array(struct stapy_context *c, struct stapy_map *m, const char *prefix);
bool stapy_monitor_clear(struct stapy_context *c, struct stapy_map *m);

/*
 * The same for --metrics: all elements in the order of their buckets, of which those behind the first `most`
 * are only counted, and with their buckets. An element that was deleted and is there again may come twice.
 */
bool stapy_metrics_array(struct stapy_context *c, struct stapy_map *m, const char *prefix, unsigned int most);
/* Append the value of a global that is no array, as the one element of a list. */
void stapy_metrics_stat(struct stapy_context *c, struct stapy_statvar *v, const struct stapy_stat_shape *shape);
void stapy_metrics_long(struct stapy_context *c, s64 value);
void stapy_metrics_text(struct stapy_context *c, const char *text);
/* Append a text as it is. */
void stapy_metrics_add(struct stapy_context *c, const char *text);

/* The cost of a probe's hits so far, in the units of -t; false when there is no such probe. */
bool stapy_monitor_hits(unsigned int number, struct stapy_stat *sum);
/* Forget the hits of a probe. */
void stapy_monitor_reset(unsigned int number);
/* Nanoseconds since the module was loaded. */
u64 stapy_monitor_age(void);
/* Hits that were skipped, whatever the reason. */
u64 stapy_monitor_skips(void);
/* Bytes of arrays, statistics, frames and output buffers. */
u64 stapy_monitor_memory(void);

#endif
