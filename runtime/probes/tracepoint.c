// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracepoints: found by name, called back with their arguments as registers. */
#include "../build.h"
#include "../hit.h"
#include "../compat/linux/tracepoint.h"

#define MAX_ARGS 12

static struct stapy_tracepoint_row *all_rows;
static unsigned int nr_rows;
static bool starting;			/* in the consumer's hands */
static DEFINE_MUTEX(mutex);

/* Without one of the tasks, the events of the scheduler would make no sense. */
static bool STAPY_CALLBACK hides(const struct stapy_site *site)
{
	const struct stapy_tracepoint_row *row = container_of(site, struct stapy_tracepoint_row, site);

	return stapy_is_hidden() && strncmp(row->name, "sched_", 6);
}

static __always_inline void run(struct stapy_context *c, const unsigned long *args)
{
	c->args = args;
	stapy_hit_run(c, c->site->probe->handler);
	stapy_hit_leave(c);
}

/* Whatever is to be looked at; events with many arguments are rare, and share the code. */
static noinline void STAPY_CALLBACK any_hit(const struct stapy_tracepoint_row *row,
					    const unsigned long *args)
{
	struct stapy_context *c = stapy_hit_enter(hides, &row->site, NULL, 0);

	if (c)
		run(c, args);
}

static __always_inline void hit(const struct stapy_tracepoint_row *row, const unsigned long *args)
{
	struct stapy_context *c;

	if (likely(!stapy_may_be_off(row->site.probe) && stapy_hit_begin(&c, &row->site, NULL, 0)))
		run(c, args);
	else
		any_hit(row, args);
}

/*
 * One callback for each number of arguments. A tracepoint calls with its own
 * types; narrower ones arrive in the same registers and stack slots as longs.
 */
#define ARGS_0
#define ARGS_1 , unsigned long a0
#define ARGS_2 ARGS_1, unsigned long a1
#define ARGS_3 ARGS_2, unsigned long a2
#define ARGS_4 ARGS_3, unsigned long a3
#define ARGS_5 ARGS_4, unsigned long a4
#define ARGS_6 ARGS_5, unsigned long a5
#define ARGS_7 ARGS_6, unsigned long a6
#define ARGS_8 ARGS_7, unsigned long a7
#define ARGS_9 ARGS_8, unsigned long a8
#define ARGS_10 ARGS_9, unsigned long a9
#define ARGS_11 ARGS_10, unsigned long a10
#define ARGS_12 ARGS_11, unsigned long a11

#define CALLBACK(n, ...)							\
	static void STAPY_CALLBACK on_event_##n(void *row ARGS_##n)				\
	{									\
		const unsigned long args[] = { __VA_ARGS__ };			\
										\
		if (n <= 4)							\
			hit(row, args);						\
		else								\
			any_hit(row, args);					\
	}

CALLBACK(0, 0)
CALLBACK(1, a0)
CALLBACK(2, a0, a1)
CALLBACK(3, a0, a1, a2)
CALLBACK(4, a0, a1, a2, a3)
CALLBACK(5, a0, a1, a2, a3, a4)
CALLBACK(6, a0, a1, a2, a3, a4, a5)
CALLBACK(7, a0, a1, a2, a3, a4, a5, a6)
CALLBACK(8, a0, a1, a2, a3, a4, a5, a6, a7)
CALLBACK(9, a0, a1, a2, a3, a4, a5, a6, a7, a8)
CALLBACK(10, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)
CALLBACK(11, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
CALLBACK(12, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)

static void *const callbacks[MAX_ARGS + 1] = {
	on_event_0, on_event_1, on_event_2, on_event_3, on_event_4, on_event_5, on_event_6,
	on_event_7, on_event_8, on_event_9, on_event_10, on_event_11, on_event_12,
};

static bool wants(const struct stapy_tracepoint_row *row, const struct tracepoint *tp,
		  const char *module)
{
	if (row->tp || strcmp(row->name, tp->name))
		return false;
	return module ? row->module && !strcmp(row->module, module) : !row->module;
}

static int set_armed(struct stapy_tracepoint_row *row, bool wanted)
{
	int r;

	if (row->armed == wanted)
		return 0;
	r = wanted ? tracepoint_probe_register(row->tp, callbacks[row->nargs], row) :
		     tracepoint_probe_unregister(row->tp, callbacks[row->nargs], row);
	if (!r)
		row->armed = wanted;
	return r;
}

static void arm(struct tracepoint *tp, const char *module)
{
	unsigned int i;

	for (i = 0; i < nr_rows && stapy_state() <= STAPY_RUNNING; i++) {
		struct stapy_tracepoint_row *row = &all_rows[i];
		int r;

		if (!wants(row, tp, module) || (starting && stapy_interrupted()))
			continue;
		row->tp = tp;
		r = row->nargs > MAX_ARGS ? -E2BIG :
		    set_armed(row, stapy_wanted(row->site.probe));
		if (!r)
			continue;
		row->tp = NULL;
		row->failed = true;
		stapy_warn("probe %s registration error (rc %d)", row->site.point, r);
	}
}

static void disarm(struct tracepoint *tp)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_tracepoint_row *row = &all_rows[i];

		if (!row->tp || (tp && row->tp != tp))
			continue;
		set_armed(row, false);
		row->tp = NULL;
	}
}

static void arm_builtin(struct tracepoint *tp, void *unused)
{
	arm(tp, NULL);
}

#ifdef CONFIG_MODULES
static int on_module(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = ((struct tp_module *)data)->mod;
	unsigned int i;

	if (event == MODULE_STATE_COMING && !stapy_module_fits(module))
		return NOTIFY_DONE;
	mutex_lock(&mutex);
	for (i = 0; i < module->num_tracepoints; i++) {
		struct tracepoint *tp = tracepoint_ptr_deref(&module->tracepoints_ptrs[i]);

		if (event == MODULE_STATE_COMING)
			arm(tp, module->name);
		else if (event == MODULE_STATE_GOING)
			disarm(tp);
	}
	mutex_unlock(&mutex);
	return NOTIFY_DONE;
}

/* Registering calls back for the modules that are loaded already. */
static struct notifier_block module_notifier = { .notifier_call = on_module };
#endif

/* Events of modules may come later. */
static void warn_missing(void)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (!all_rows[i].tp && !all_rows[i].module && !all_rows[i].failed)
			stapy_warn("probe %s registration error (rc %d)", all_rows[i].site.point,
				   -ENOENT);
}

static void rearm(void *rows, unsigned int count)
{
	unsigned int i;

	mutex_lock(&mutex);
	for (i = 0; i < nr_rows && stapy_state() == STAPY_RUNNING; i++) {
		struct stapy_tracepoint_row *row = &all_rows[i];
		int r = row->tp ? set_armed(row, stapy_wanted(row->site.probe)) : 0;

		if (r)
			stapy_warn("probe %s registration error (rc %d)", row->site.point, r);
	}
	mutex_unlock(&mutex);
}

static void stop(void *rows, unsigned int count)
{
#ifdef CONFIG_MODULES
	unregister_tracepoint_module_notifier(&module_notifier);
#endif
	mutex_lock(&mutex);
	disarm(NULL);
	mutex_unlock(&mutex);
	tracepoint_synchronize_unregister();
}

static int start(void *rows, unsigned int count)
{
	int r = 0;

	if (!STAPY_TRACEPOINTS) {
		stapy_control("error", "tracepoints cannot be probed on this kernel: it was built to check the types of calls (kCFI), and probes of tracepoints do not have those; try kernel.function of what the event is in");
		return -EOPNOTSUPP;
	}
	all_rows = rows;
	nr_rows = count;
	mutex_lock(&mutex);
	starting = true;
	for_each_kernel_tracepoint(arm_builtin, NULL);
	starting = false;
	mutex_unlock(&mutex);
#ifdef CONFIG_MODULES
	r = register_tracepoint_module_notifier(&module_notifier);
#endif
	if (stapy_interrupted())
		r = -EINTR;
	if (r)
		stop(rows, count);
	else
		warn_missing();
	return r;
}

const struct stapy_family stapy_tracepoint = {
	.name = "tracepoint",
	.start = start,
	.stop = stop,
	.rearm = rearm,
};
