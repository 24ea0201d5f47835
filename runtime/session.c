// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of a session: module_init, start, stop, module_exit. */
#include "hit.h"
#include "cpus.h"
#include "transport/control.h"
#include "transport/files.h"

bool stapy_failed;

/* A consumer in a virtual machine names the process that only serves the machine. */
int stapy_hidden;
module_param(stapy_hidden, int, 0);
int stapy_remote;
module_param(stapy_remote, int, 0);
char *stapy_remote_uri = "";
module_param(stapy_remote_uri, charp, 0);

/*
 * Whom the session is for, up to which level, and his own: said by stapy-run's keeper when a member
 * of stapusr, stapsys or stapdev loads us, and by nobody else. Root's own sessions have none. What
 * root has put into the trusted folder is started at any level, so the first may be above his own.
 */
#define NOBODY ((unsigned int)-1)
static unsigned int stapy_user = NOBODY;
module_param(stapy_user, uint, 0444);
static int stapy_level;
module_param(stapy_level, int, 0);
static int stapy_member_level;
module_param(stapy_member_level, int, 0);

static DEFINE_MUTEX(session_mutex);
static int marks;			/* STAPY_MASKS, STAPY_HIDES: in all states */
static bool ended;			/* end probes ran, or will never run */
static bool refused;			/* there is no memory for the script */
static bool initialised;		/* stapy_session.init() ran */

static bool is_above_level(void)
{
	int needed = stapy_session.limits.privilege ?: STAPY_STAPDEV;

	return stapy_user != NOBODY && stapy_level < needed;
}

kuid_t stapy_session_user(void)
{
	return stapy_user == NOBODY ? INVALID_UID : make_kuid(&init_user_ns, stapy_user);
}

/*
 * A program that is root's by its mode has the capability as well, whoever starts it and gives it
 * our file for its messages; its real user is still the one who started it.
 */
bool stapy_session_trusts_caller(void)
{
	return stapy_user == NOBODY ||
	       (uid_eq(current_uid(), GLOBAL_ROOT_UID) && capable(CAP_SYS_MODULE));
}

static void set_state(enum stapy_state state)
{
	atomic_set(&stapy_session.state, state | marks);
}

/* False when the state is another one. */
static bool change_state(enum stapy_state from, enum stapy_state to)
{
	return atomic_cmpxchg(&stapy_session.state, from | marks, to | marks) == (from | marks);
}

void stapy_exit(void)
{
	int state;

	/* A handler can end a session that starts or runs; only the first one is told. */
	for (state = STAPY_STARTING; state <= STAPY_RUNNING; state++) {
		if (change_state(state, STAPY_STOPPING)) {
			stapy_control_event(STAPY_CONTROL_EXIT, 0);
			return;
		}
	}
}

void stapy_fail(void)
{
	WRITE_ONCE(stapy_failed, true);
	stapy_exit();
}

static unsigned int turn_of(const struct stapy_family *family)
{
	return family->early ? 0 : family->phases ? 1 : 2;
}

/* Families in the order of the table: the early ones, those with begin and end probes, the others. */
static const struct stapy_family_rows *family_at(unsigned int number)
{
	const struct stapy_session *s = &stapy_session;
	unsigned int i, turn, seen = 0;

	for (turn = 0; turn < 3; turn++)
		for (i = 0; i < s->nr_families; i++)
			if (turn_of(s->families[i].family) == turn && seen++ == number)
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

static void run_families(unsigned int started)
{
	unsigned int i;

	for (i = 0; i < started; i++) {
		const struct stapy_family_rows *f = family_at(i);

		if (f->family->run)
			f->family->run(f->rows, f->count);
	}
}

static unsigned int nr_started;

int stapy_session_file(int fd, const char *name)
{
	unsigned int i;
	bool wanted = false;
	int r = 0;

	mutex_lock(&session_mutex);
	if (stapy_state() != STAPY_LOADED)
		r = -EBUSY;
	for (i = 0; i < stapy_session.nr_families && !r; i++) {
		const struct stapy_family_rows *f = &stapy_session.families[i];

		if (!f->family->file)
			continue;
		wanted = true;
		r = f->family->file(f->rows, f->count, fd, name);
	}
	if (!r && !wanted)
		r = -EINVAL;
	mutex_unlock(&session_mutex);
	return r;
}

int stapy_session_object(const char __user *from, size_t bytes)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_families; i++) {
		const struct stapy_family_rows *f = &stapy_session.families[i];

		if (f->family->object)
			return f->family->object(f->rows, f->count, from, bytes);
	}
	return -EINVAL;
}

int stapy_session_fetch(unsigned int number)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_families; i++)
		if (stapy_session.families[i].family->fetch)
			return stapy_session.families[i].family->fetch(number);
	return -EINVAL;
}

void stapy_session_left(void)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_families; i++)
		if (stapy_session.families[i].family->left)
			stapy_session.families[i].family->left();
}

int stapy_session_start(int target, int spaces)
{
	int r;

	if (!stapy_session_trusts_caller() && !uid_eq(current_uid(), stapy_session_user()))
		return -EPERM;
	/* Whose name spaces are taken is said by the session's user, not by who has loaded us. */
	if (spaces && stapy_user != NOBODY && stapy_member_level < STAPY_STAPDEV)
		return -EPERM;
	mutex_lock(&session_mutex);
	if (!change_state(STAPY_LOADED, STAPY_STARTING)) {
		mutex_unlock(&session_mutex);
		return -EALREADY;
	}
	stapy_session.target = target;
	stapy_session.consumer = current->tgid;
	stapy_session.owner = current_uid();
	/* No probe runs where there is no memory for one. */
	ended = refused;
	r = refused ? -ENOMEM : spaces ? stapy_spaces_hold(spaces) : 0;
	if (!r && stapy_session.start) {
		r = stapy_session.start();
		if (r)
			stapy_control("error", "Failed to run STAP_MODULE_INIT_HOOK (%d)", r);
		/* Everybody else takes a positive number for success. */
		if (r > 0)
			r = -EINVAL;
	}
	if (!r)
		r = start_families(&nr_started);
	if (r == -EINTR) {
		/* The user did not wait for the last probe: as if a script had called exit(). */
		stapy_exit();
		r = 0;
	}
	if (r) {
		/* When the consumer has heard of it, error probes run. */
		WRITE_ONCE(stapy_failed, true);
		stop_families(nr_started);
		nr_started = 0;
		set_state(STAPY_STOPPING);
	} else if (change_state(STAPY_STARTING, STAPY_RUNNING)) {
		run_families(nr_started);
	}
	stapy_control_event(STAPY_CONTROL_STARTED, r);
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

	for (i = 0; (f = family_at(i)) && turn_of(f->family) < 2; i++)
		if (f->family->phases)
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
	set_state(STAPY_STOPPING);
	if (state != STAPY_LOADED && !ended) {
		stapy_control_reporting(true);
		missed = count_missed();
		stapy_control_reporting(false);
		stop_families(nr_started);
		run_end_probes();
		stapy_control_reporting(true);
		stapy_report_probes();
		stapy_report_skips(missed);
		stapy_overload_report();
		stapy_accounts_report(missed);
	}
	stapy_control_reporting(true);
	stapy_report_lost();
	ended = true;
	stapy_control_event(STAPY_CONTROL_STOPPED, stapy_control_errors());
	/* Readers that see this state find everything written. */
	smp_wmb();
	set_state(STAPY_STOPPED);
	mutex_unlock(&session_mutex);
	stapy_files_wake();
}

/* Files that are held for points of a session that never began. */
static void release_families(void)
{
	const struct stapy_family_rows *f;
	unsigned int i;

	for (i = 0; (f = family_at(i)); i++)
		if (f->family->release)
			f->family->release(f->rows, f->count);
}

void stapy_session_free(void)
{
	release_families();
	if (stapy_cpus) {
		stapy_rings_free();
		stapy_frames_free();
	}
	stapy_maps_free();
}

static void release_all(void)
{
	stapy_files_remove();
	stapy_cpus_stop();
	stapy_session_free();
	stapy_spaces_release();
	stapy_report_free();
	stapy_overload_free();
	stapy_control_free();
	stapy_contexts_free();
}

/* What every session needs; it is little. */
static int allocate_first(void)
{
	int r = stapy_contexts_alloc();

	r = r ?: stapy_control_alloc();
	r = r ?: stapy_report_alloc();
	r = r ?: stapy_overload_alloc();
	return r ?: stapy_maps_plan();
}

/* What is as large as the script wants it. */
static int allocate_rest(void)
{
	int r;

	stapy_rings_size();
	r = stapy_budget_check();
	if (r)
		return r;
	r = stapy_frames_alloc();
	r = r ?: stapy_maps_alloc();
	r = r ?: stapy_rings_alloc();
	if (r)
		stapy_budget_complain();
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

/*
 * The kernel's own parser knows quotes but no way to escape one. So a text that
 * it could not carry comes as hexadecimal digits behind a byte 1.
 */
int stapy_set_text(const char *from, const struct kernel_param *param)
{
	const struct kparam_string *text = param->str;
	const bool digits = from[0] == '\1';
	size_t n = digits ? strlen(from + 1) / 2 : strlen(from);

	if (n >= text->maxlen)
		return -ENOSPC;
	if (digits && hex2bin((u8 *)text->string, from + 1, n))
		return -EINVAL;
	if (!digits)
		memcpy(text->string, from, n);
	text->string[n] = '\0';
	return 0;
}

static void end_script(void)
{
	if (stapy_session.exit && !refused && (initialised || !stapy_session.init))
		stapy_session.exit();
}

static int __init stapy_init(void)
{
	int r;

	if (is_above_level())
		return -EPERM;
	/* The consumer may have loaded us under another name than we were built with. */
	stapy_session.name = THIS_MODULE->name;
	marks = (stapy_session.limits.interruptible ? 0 : STAPY_MASKS) |
		(stapy_hidden ? STAPY_HIDES : 0);
	set_state(STAPY_LOADED);
	stapy_cpus_init();
	r = allocate_first();
	/* The consumer reads why: the kernel would only tell it that there is no memory. */
	if (!r && allocate_rest()) {
		stapy_session_free();
		refused = true;
	}
	if (!r && !refused && stapy_session.init) {
		r = stapy_session.init();
		initialised = !r;
	}
	r = r ?: stapy_files_create();
	if (r) {
		end_script();
		release_all();
	}
	return r;
}

static void __exit stapy_cleanup(void)
{
	stapy_session_stop();
	stapy_files_remove();
	end_script();
	if (stapy_session.finish)
		stapy_session.finish();
	release_all();
}

module_init(stapy_init);
module_exit(stapy_cleanup);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("stapy session");
