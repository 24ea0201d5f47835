// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of a session: module_init, start, stop, module_exit. */
#include "internal.h"
#include "transport/control.h"
#include "transport/files.h"

bool stapy_failed;

static DEFINE_MUTEX(session_mutex);
static bool ended;			/* end probes ran, or will never run */

void stapy_exit(void)
{
	int state;

	/* A handler can end a session that starts or runs; only the first one is told. */
	for (state = STAPY_STARTING; state <= STAPY_RUNNING; state++) {
		if (atomic_cmpxchg(&stapy_session.state, state, STAPY_STOPPING) == state) {
			stapy_control("exit", "%s", "");
			return;
		}
	}
}

void stapy_fail(void)
{
	WRITE_ONCE(stapy_failed, true);
	stapy_exit();
}

/*
 * Families in the order of the table, those with begin and end probes first;
 * returns how many were started, with the error in *error.
 */
static const struct stapy_family_rows *family_at(unsigned int number)
{
	const struct stapy_session *s = &stapy_session;
	unsigned int i, pass, seen = 0;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < s->nr_families; i++)
			if (s->families[i].family->phases == !pass && seen++ == number)
				return &s->families[i];
	return NULL;
}

static void stop_families(unsigned int started)
{
	while (started--) {
		const struct stapy_family_rows *f = family_at(started);

		if (!f->family->phases)
			f->family->stop(f->rows, f->count);
	}
	stapy_contexts_wait();
}

static int start_families(unsigned int *started)
{
	const struct stapy_family_rows *f;
	int r;

	for (*started = 0; (f = family_at(*started)); ++*started) {
		/* exit() in a begin probe: there is no point in arming anything. */
		if (!f->family->phases && stapy_state() != STAPY_STARTING)
			break;
		r = f->family->start(f->rows, f->count);
		if (r)
			return r;
	}
	return 0;
}

static unsigned int nr_started;

int stapy_session_start(int target)
{
	int r;

	mutex_lock(&session_mutex);
	if (atomic_cmpxchg(&stapy_session.state, STAPY_LOADED, STAPY_STARTING) != STAPY_LOADED) {
		mutex_unlock(&session_mutex);
		return -EALREADY;
	}
	stapy_session.target = target;
	stapy_session.consumer = current->tgid;
	r = start_families(&nr_started);
	if (r) {
		/* SystemTap runs neither end nor error probes then. */
		stop_families(nr_started);
		nr_started = 0;
		ended = true;
		atomic_set(&stapy_session.state, STAPY_STOPPING);
	} else {
		atomic_cmpxchg(&stapy_session.state, STAPY_STARTING, STAPY_RUNNING);
	}
	stapy_control("started", "%d", r);
	mutex_unlock(&session_mutex);
	stapy_files_wake();
	return 0;
}

static u64 count_missed(void)
{
	u64 n = 0;
	unsigned int i;

	for (i = 0; i < nr_started; i++) {
		const struct stapy_family_rows *f = family_at(i);

		if (f->family->missed)
			n += f->family->missed(f->rows, f->count);
	}
	return n;
}

static void run_end_probes(void)
{
	const struct stapy_family_rows *f;
	unsigned int i;

	for (i = 0; (f = family_at(i)) && f->family->phases; i++)
		f->family->stop(f->rows, f->count);
}

void stapy_session_stop(void)
{
	u64 missed;
	int state;

	mutex_lock(&session_mutex);
	state = stapy_state();
	if (state == STAPY_STOPPED) {
		mutex_unlock(&session_mutex);
		return;
	}
	atomic_set(&stapy_session.state, STAPY_STOPPING);
	if (state != STAPY_LOADED && !ended) {
		missed = count_missed();
		stop_families(nr_started);
		run_end_probes();
		stapy_report_probes();
		stapy_report_skips(missed);
	}
	ended = true;
	/* Readers that see this state find everything written. */
	smp_wmb();
	atomic_set(&stapy_session.state, STAPY_STOPPED);
	stapy_control("stopped", "%s", "");
	mutex_unlock(&session_mutex);
	stapy_files_wake();
}

static void release_all(void)
{
	stapy_files_remove();
	if (stapy_cpus)
		stapy_rings_free();
	stapy_maps_free();
	stapy_report_free();
	stapy_control_free();
	stapy_contexts_free();
}

static int allocate_all(void)
{
	int r = stapy_contexts_alloc();

	r = r ?: stapy_control_alloc();
	r = r ?: stapy_report_alloc();
	r = r ?: stapy_maps_alloc();
	r = r ?: stapy_rings_alloc();
	return r;
}

/* For a consumer that finds this module loaded: does the session live? */
static int show_state(char *to, const struct kernel_param *unused)
{
	int state = stapy_state();

	return sysfs_emit(to, "%s\n", state == STAPY_LOADED ? "loaded" :
			  state == STAPY_STOPPED ? "stopped" : "running");
}

static int refuse_state(const char *from, const struct kernel_param *unused)
{
	return -EPERM;
}

static const struct kernel_param_ops state_ops = { .get = show_state, .set = refuse_state };
module_param_cb(stapy_state, &state_ops, NULL, 0444);

static int __init stapy_init(void)
{
	int r;

	/* The consumer may have loaded us under another name than we were built with. */
	stapy_session.name = THIS_MODULE->name;
	r = allocate_all();
	if (!r && stapy_session.init)
		r = stapy_session.init();
	if (!r) {
		r = stapy_files_create();
		if (r && stapy_session.exit)
			stapy_session.exit();
	}
	if (r)
		release_all();
	return r;
}

static void __exit stapy_cleanup(void)
{
	stapy_session_stop();
	stapy_files_remove();
	if (stapy_session.exit)
		stapy_session.exit();
	release_all();
}

module_init(stapy_init);
module_exit(stapy_cleanup);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("stapy session");
