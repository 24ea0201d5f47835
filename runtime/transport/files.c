// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/stapy_<module>/control, and who has the files open. Probes never wake anybody: a timer
 * looks every few milliseconds whether there is something to read.
 */
#include "../internal.h"
#include "../cpus.h"
#include "control.h"
#include "files.h"
#include "outputs.h"

#define TICK_MS 4
#define COMMAND_BYTES 64
#define CLAIM_SECONDS 30
#define FETCH 0x5354			/* stapy/run/control.py has the same */

static struct proc_dir_entry *directory;
DECLARE_WAIT_QUEUE_HEAD(stapy_readers);
static DEFINE_MUTEX(control_mutex);
static struct timer_list tick;
static bool tick_stopped;
static atomic_t control_users = ATOMIC_INIT(0);
static bool detached;			/* closing control does not end the session */
static bool dismissed;			/* who closes control removes the module */
static bool abandoned;			/* it was closed without a word: nobody does */
static atomic_t open_files = ATOMIC_INIT(0);
static atomic_t unclaimed = ATOMIC_INIT(0);	/* somebody is to open control, or to remove us */

/* The message that a short read of control left. */
static char *line;
static size_t line_length, line_done;

void stapy_files_wake(void)
{
	wake_up_interruptible_all(&stapy_readers);
}

static void on_tick(struct timer_list *unused)
{
	stapy_cpus_look();
	if (wq_has_sleeper(&stapy_readers) && (stapy_outputs_ripe() || stapy_control_pending()))
		stapy_files_wake();
	if (!READ_ONCE(tick_stopped))
		mod_timer(&tick, jiffies + max(1UL, msecs_to_jiffies(TICK_MS)));
}

/*
 * An open file keeps the module, so that no sleeper is left on our wait queue. A stream has
 * no position to be locked: a thread may read while another one writes.
 */
int stapy_files_open(struct inode *inode, struct file *file)
{
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	atomic_inc(&open_files);
	return stream_open(inode, file);
}

/*
 * Whoever had the files open was killed: nobody removes the module, and a module cannot do
 * that itself. A program of the user's can, once we are out of here. It looks at the state
 * first, for there may be a new session of the name by then.
 */
static void have_removed(void)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	static char script[] =
		"for try in 1 2 3 4 5 6 7 8 9 10; do"
		" read state <\"/sys/module/$0/parameters/stapy_state\" || exit;"
		" [ \"$state\" = stopped ] || exit;"
		" rmmod \"$0\" && exit; sleep 0.2; done";
	char *words[] = { shell, option, script, (char *)stapy_session.name, NULL };
	static char path[] = "PATH=/sbin:/usr/sbin:/bin:/usr/bin";
	char *environment[] = { path, NULL };

	/* It has its words when this returns; without it the module stays, stopped and small. */
	call_usermodehelper(shell, words, environment, UMH_WAIT_EXEC);
}

static void let_go(void)
{
	if (atomic_dec_and_test(&open_files) && READ_ONCE(abandoned)) {
		mutex_lock(&stapy_output_mutex);
		stapy_session_free();
		mutex_unlock(&stapy_output_mutex);
		have_removed();
	}
}

void stapy_files_leave(void)
{
	let_go();
	module_put(THIS_MODULE);
}

/*
 * Whoever loaded us was killed before it opened control, or who dismissed us before it removed
 * us. Who opens control from now on finds that the session is over.
 */
static void on_unclaimed(struct work_struct *unused)
{
	if (!atomic_xchg(&unclaimed, 0))
		return;
	atomic_inc(&open_files);
	stapy_session_stop();
	WRITE_ONCE(abandoned, true);
	let_go();
}

static DECLARE_DELAYED_WORK(unclaimed_work, on_unclaimed);

static void expect_claim(void)
{
	atomic_set(&unclaimed, 1);
	mod_delayed_work(system_unbound_wq, &unclaimed_work, CLAIM_SECONDS * HZ);
}

bool stapy_files_attended(void)
{
	return atomic_read(&control_users);
}

static int control_open(struct inode *inode, struct file *file)
{
	int r;

	if (atomic_cmpxchg(&control_users, 0, 1))
		return -EBUSY;
	detached = false;
	dismissed = false;
	r = stapy_files_open(inode, file);
	if (r) {
		atomic_set(&control_users, 0);
		return r;
	}
	atomic_set(&unclaimed, 0);
	cancel_delayed_work(&unclaimed_work);
	return 0;
}

/* The consumer is gone, perhaps killed: nobody else would end the session. */
static int control_release(struct inode *inode, struct file *file)
{
	if (!detached) {
		stapy_session_stop();
		/* Also of a module that was abandoned before: the last one's word holds. */
		WRITE_ONCE(abandoned, !dismissed);
		if (dismissed)
			expect_claim();
	}
	if (detached)
		stapy_rings_overwrite(true);
	atomic_set(&control_users, 0);
	stapy_session_left();
	stapy_files_leave();
	return 0;
}

/* "file FD NAME": a program that probe points name, as the consumer sees it. */
static ssize_t take_file(const char __user *from, size_t bytes)
{
	char *command, *name;
	int fd, start = 0, r = -EINVAL;

	/* Another file than the one that was looked at could be broken by our places. */
	if (!stapy_session_trusts_caller())
		return -EPERM;
	if (bytes > PATH_MAX + COMMAND_BYTES)
		return -EINVAL;
	command = memdup_user_nul(from, bytes);
	if (IS_ERR(command))
		return PTR_ERR(command);
	if (sscanf(command, "file %d %n", &fd, &start) == 1 && start) {
		name = command + start;
		strreplace(name, '\n', '\0');
		r = stapy_session_file(fd, name);
	}
	kfree(command);
	return r ?: bytes;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes, loff_t *unused)
{
	static const char file_command[] = "file ", object_command[] = "object";
	char command[COMMAND_BYTES];
	int target, spaces = 0;

	if (bytes > strlen(object_command)) {
		if (copy_from_user(command, from, strlen(object_command)))
			return -EFAULT;
		if (!memcmp(command, file_command, strlen(file_command)))
			return take_file(from, bytes);
		if (!memcmp(command, object_command, strlen(object_command)))
			return stapy_session_object(from, bytes) ?: bytes;
	}
	if (bytes >= sizeof(command))
		return -EINVAL;
	if (copy_from_user(command, from, bytes))
		return -EFAULT;
	command[bytes] = '\0';
	if (sscanf(command, "start %d %d", &target, &spaces) >= 1) {
		int r = stapy_session_start(target, spaces);

		if (r)
			return r;
	} else if (sysfs_streq(command, "stop")) {
		stapy_session_stop();
	} else if (sysfs_streq(command, "exit")) {
		/* Also while another thread's "start" is on its way. */
		stapy_exit();
	} else if (sysfs_streq(command, "detach")) {
		detached = true;
	} else if (sysfs_streq(command, "memory")) {
		stapy_budget_tell();
	} else if (sysfs_streq(command, "dismiss")) {
		dismissed = true;
	} else {
		return -EINVAL;
	}
	return bytes;
}

/* Whole lines as far as they fit; a line longer than the buffer in parts. */
static ssize_t copy_messages(char __user *to, size_t bytes)
{
	size_t copied = 0, n;

	while (copied < bytes) {
		if (line_done == line_length) {
			line_done = 0;
			line_length = stapy_control_take(line);
			if (!line_length)
				break;
		}
		n = line_length - line_done;
		if (copied && n > bytes - copied)
			break;
		n = min(n, bytes - copied);
		if (copy_to_user(to + copied, line + line_done, n))
			return copied ?: -EFAULT;
		line_done += n;
		copied += n;
	}
	return copied;
}

static bool messages(void)
{
	return line_done < line_length || stapy_control_pending();
}

static ssize_t control_read(struct file *file, char __user *to, size_t bytes, loff_t *unused)
{
	ssize_t n;
	bool last;

	if (!bytes)
		return 0;
	for (;;) {
		last = stapy_is_over();
		if (mutex_lock_interruptible(&control_mutex))
			return -ERESTARTSYS;
		n = copy_messages(to, bytes);
		mutex_unlock(&control_mutex);
		if (n || last)
			return n;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(stapy_readers, messages() || stapy_is_over()))
			return -ERESTARTSYS;
	}
}

static __poll_t control_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &stapy_readers, table);
	if (messages())
		return EPOLLIN | EPOLLRDNORM;
	return stapy_is_over() ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}

/* Opened in the consumer, whose descriptors are those of the caller. */
static long control_ioctl(struct file *file, unsigned int command, unsigned long number)
{
	return command == FETCH ? stapy_session_fetch(number) : -ENOTTY;
}

static const struct proc_ops control_ops = {
	.proc_open = control_open,
	.proc_release = control_release,
	.proc_read = control_read,
	.proc_write = control_write,
	.proc_poll = control_poll,
	.proc_ioctl = control_ioctl,
	.proc_lseek = noop_llseek,
};

int stapy_files_create(void)
{
	char name[MODULE_NAME_LEN + 8];

	line = stapy_alloc(1, stapy_control_line());
	if (!line)
		return -ENOMEM;
	snprintf(name, sizeof(name), "stapy_%s", stapy_session.name);
	directory = proc_mkdir(name, NULL);
	if (!directory)
		return -ENOMEM;
	if (!proc_create("control", 0600, directory, &control_ops) || stapy_outputs_create(directory))
		return -ENOMEM;
	timer_setup(&tick, on_tick, 0);
	mod_timer(&tick, jiffies + 1);
	expect_claim();
	return 0;
}

void stapy_files_remove(void)
{
	/* Waits for calls in progress and closes what is open. */
	if (directory)
		proc_remove(directory);
	directory = NULL;
	/* Only then: who closed control has expected a claim. */
	cancel_delayed_work_sync(&unclaimed_work);
	WRITE_ONCE(tick_stopped, true);
	if (tick.function)
		stapy_timer_cancel(&tick);
	kvfree(line);
	line = NULL;
}
