/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a script's C file tells the runtime about itself: tables only. */
#ifndef STAPY_SESSION_H
#define STAPY_SESSION_H

struct stapy_context;
struct stapy_family;
struct stapy_line_table;
struct stapy_stat;

/* What becomes of a session whose handlers take too much time. */
enum stapy_overload {
	STAPY_OVERLOAD_EXIT,
	STAPY_OVERLOAD_THROTTLE,	/* the probe that took most rests for a while */
	STAPY_OVERLOAD_DISARM		/* it is disarmed for good */
};

/* Limits that -D can change; the names are SystemTap's, in lower case. */
enum { HIST_WIDTH = 50, HIST_ELISION = 2 };	/* unless -D gives them */

struct stapy_limits {
	int maxaction;
	int maxaction_interruptible;
	int maxerrors;
	int maxskipped;
	int maxtrylock;
	int trylockdelay;		/* microseconds */
	int minstackspace;		/* bytes */
	int maxstringlen;		/* bytes with the NUL */
	int maxnesting;			/* c->nesting at the start of a hit */
	int maxmapentries;
	int maxbacktrace;		/* frames of a backtrace; 0: 20 */
	int object_memory;		/* MiB of tables for user stacks; 0: 64 */
	int maxentryframes;		/* calls whose entry registers are remembered; 0: 4096 */
	int no_overload;		/* true: the overload rule is off */
	int on_overload;		/* enum stapy_overload */
	int interruptible;
	int suppress_handler_errors;
	int suppress_time_limits;
	int skip_badvars;		/* what cannot be read of memory is 0 */
	int timing_nsecs;		/* the report of -t is in nanoseconds */
	int timing;			/* -t: count hits and cycles of each probe, report at the end */
	int unreported;			/* --monitor alone: counted for who asks, and not reported */
	int alibi;			/* -D STP_ALIBI: handlers do not run, their hits are counted */
	u64 overload_threshold;		/* cycles */
	u64 overload_interval;		/* cycles */
	u64 on_the_fly_interval;	/* ns that a condition is false before its probes are disarmed; 0: 100 ms */
	int bulk;			/* -b: a file of output for each CPU, unmerged */
	size_t buffer_bytes;		/* output ring of one CPU; 0: 2 MiB */
	int unprivileged;		/* --privilege=stapusr: no memory but that of the owner's processes */
	int privilege;			/* enum stapy_privilege: what --privilege allowed the script */
	int max_kilobytes;		/* of memory, the module's own included; 0: what is free */
	int procfs_bytes;		/* of a text that is read from a file of procfs; 0: a string's */
	bool hist_given;		/* the next two count */
	bool hist_width_given;		/* and the first of them on a terminal, too */
	int hist_width;			/* characters that a histogram's bars are scaled to */
	int hist_elision;		/* its empty rows kept on either side of a gap; -1 keeps all */
};

/* An arming condition; equal ones of several probes are one, but with --on-overload each has its own. */
struct stapy_condition {
	bool (*test)(struct stapy_context *c);
	unsigned int followers;		/* so many behind it in the table are what it is */
	/* run-time state below */
	atomic_t off;			/* enum stapy_off: why its probes run no handlers; 0: they do */
	bool idle;			/* and they are disarmed, or about to be */
	bool waiting;			/* it was found false since the time below, after so many turns */
	unsigned int turns;		/* how often it became true */
	unsigned int turns_seen;
	unsigned long since;		/* jiffies */
	unsigned long told;		/* bit 0: of an overload */
};

/* Levels of trust, lowest first; a script that nothing was said about may be for the highest only. */
enum stapy_privilege { STAPY_STAPDEV_UNSAID, STAPY_STAPUSR, STAPY_STAPSYS, STAPY_STAPDEV };

enum stapy_off {
	STAPY_OFF_FALSE = 1,		/* it was false when it was judged last */
	STAPY_OFF_DISARMED = 2,		/* because of an overload */
	STAPY_OFF_RESTS = 4		/* there are CPUs on which it rests because of one, now or before */
};

enum stapy_skip { STAPY_SKIP_REENTRANT, STAPY_SKIP_STACK, STAPY_SKIP_LOCK, STAPY_SKIP_REASONS };

/* One derived probe. */
struct stapy_probe {
	void (*handler)(struct stapy_context *c);
	void (*entry)(struct stapy_context *c);	/* entry side of a return probe, or NULL */
	struct stapy_condition *condition;	/* or NULL; with --on-overload its own */
	unsigned int switch_number;		/* of its condition, for a monitor; 0: none */
	const char *written;			/* the point as the script has it */
	const char *alias;			/* pn() */
	const char *place;			/* "script.stp:3:7" */
	struct stapy_stat __percpu *cycles;	/* the runtime's: of each hit, with -t */
	struct stapy_stat __percpu *entry_cycles;	/* and of each entry side, or NULL */
	atomic_t skipped[STAPY_SKIP_REASONS];	/* hits */
	atomic_t failed;			/* handlers that ended by an error */
	struct stapy_load __percpu *load;	/* with --on-overload, or NULL */
};

/* The one point of the list that a probe was derived from; `written` is the whole list. */
static inline const char *stapy_probe_point(const struct stapy_probe *probe)
{
	return probe->alias ?: probe->written;
}

/* For a probe with an `off`: is this so here and now? */
bool stapy_stays_off(const struct stapy_probe *probe);
/* The same of a hit that came: what is left out because of an overload is counted. */
bool stapy_left_out(const struct stapy_probe *probe);

/* Is there a reason why the probe may not run? Without a call, which costs even where it is not made. */
static __always_inline bool stapy_may_be_off(const struct stapy_probe *probe)
{
	return unlikely(probe->condition) && unlikely(atomic_read(&probe->condition->off));
}

/* True when the probe's condition was false the last time that it was judged, or it is not to run. */
static __always_inline bool stapy_is_off(const struct stapy_probe *probe)
{
	return stapy_may_be_off(probe) && stapy_stays_off(probe);
}

/* One place where a derived probe sits; every row of a family starts with it. */
struct stapy_site {
	struct stapy_probe *probe;
	const char *point;			/* pp() */
};

/* The rows of one family in this module. */
struct stapy_family_rows {
	const struct stapy_family *family;
	void *rows;				/* array of the family's row type */
	unsigned int count;
};

/* The build of a module that the script was translated for. */
struct stapy_build {
	const char *module;
	const char *id;				/* in hexadecimal */
};

enum stapy_kind { STAPY_LONG, STAPY_STRING, STAPY_STAT };

enum stapy_histogram_kind { STAPY_HIST_NONE, STAPY_HIST_LOG, STAPY_HIST_LINEAR };

/* What the statistics of one global must keep. */
struct stapy_stat_shape {
	u8 variance;
	u8 shift;
	u8 histogram;				/* enum stapy_histogram_kind */
	u16 buckets;				/* computed by the runtime at start */
	s64 low, high, step;
};

/* One global that needs memory at start: an array, or a statistic. */
struct stapy_storage {
	const char *name;
	struct stapy_map **map;			/* array: where to put it, else NULL */
	struct stapy_statvar **stat;		/* scalar statistic, else NULL */
	enum stapy_kind value;
	u8 nkeys;
	u8 wrap;
	u8 size_set;				/* the script declared the size */
	enum stapy_kind keys[9];
	u16 key_bytes[9];			/* string keys: bytes kept, 0: maxstringlen */
	u16 value_bytes;
	int size;				/* entries; 0: limits.maxmapentries */
	struct stapy_stat_shape shape;
};

struct stapy_session {
	const char *name;			/* of the module */
	const char *script;			/* file name, for messages */
	const char *manifest;
	struct stapy_limits limits;
	struct stapy_probe *probes;
	unsigned int nr_probes;
	const struct stapy_family_rows *families;
	unsigned int nr_families;
	struct stapy_storage *storage;
	unsigned int nr_storage;
	const struct stapy_build *builds;
	unsigned int nr_builds;
	const char *records;			/* --format: what each print tells, for the consumer; else NULL */
	const struct stapy_line_table *lines;	/* for scripts that ask for source lines */
	unsigned int nr_lines;
	size_t frame_bytes;			/* deepest chain of handler and function frames */
	int stack_bytes;			/* of the kernel's stack, where it takes more than limits.minstackspace */
	int (*start)(void);			/* STAP_MODULE_INIT_HOOK: before the begin probes, or NULL */
	void (*finish)(void);			/* STAP_MODULE_EXIT_HOOK: when all is over, or NULL */
	int (*init)(void);			/* embedded C and scalar globals; may be NULL */
	void (*exit)(void);
	/* run-time state below belongs to the runtime */
	atomic_t state;
	atomic_t errors;
	int target;				/* pid of -c/-x, 0 without */
	int consumer;				/* pid of the consumer: stp_pid() */
	kuid_t owner;				/* who runs the consumer: is_myproc() */
};

extern struct stapy_session stapy_session;	/* defined by the script's C file */
extern int stapy_remote;			/* which host of --remote this is, from 0 */
extern char *stapy_remote_uri;			/* its name there, "" without one */
extern int stapy_columns;			/* of the terminal that shows what is printed; 0: there is none */
extern bool stapy_colors;			/* and it shows them */

/* Sets a global of type string from a parameter of the module; param->str says where it is. */
int stapy_set_text(const char *from, const struct kernel_param *param);

#endif
