// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * procfs.*: the handler runs in the process that reads or writes the file. What is read is made
 * when reading begins, in memory of the open file, and stays until somebody reads from the
 * beginning again. proc_remove() closes files that are still open, but it waits for calls that are
 * under way, and those may sleep for ever in a page fault of the caller's buffer: who is in one
 * keeps the module, and the session ends without it.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>

#include "../internal.h"
#include "procfs_folder.h"
#include "procfs_hit.h"

#define MAX_HELD (64UL << 20)		/* bytes of text for all readers; one may have more */
#define PATIENCE_MS 1000		/* for calls that are under way */

/* A file that is open for reading. */
struct reading {
	struct mutex mutex;		/* pread() of several threads */
	bool made;
	struct stapy_procfs_value text;
};

static struct proc_dir_entry *folder;	/* the module's */
static atomic_t under_way = ATOMIC_INIT(0);	/* calls; each has a reference to the module */
static bool closing;			/* no further ones */
static atomic_long_t held = ATOMIC_LONG_INIT(0);

/* A file is there before the begin probes run, for who is told of it by them: who comes early waits. */
static int wait_for_session(void)
{
	while (stapy_state() < STAPY_RUNNING && !READ_ONCE(closing)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		schedule_timeout_killable(1);
	}
	return 0;
}

static int look(struct stapy_procfs_row *row, struct stapy_procfs_value *text)
{
	return wait_for_session() ?: stapy_procfs_run(row, text);
}

static size_t bytes_of(const struct stapy_procfs_row *row)
{
	size_t text = row->bytes ?: max(stapy_session.limits.procfs_bytes, 0);

	return text ? text + 1 : stapy_session.limits.maxstringlen;
}

static struct stapy_procfs_row *row_of(struct file *file, bool is_read)
{
	struct stapy_procfs_row *row = stapy_proc_data(file_inode(file));

	return row->is_read == is_read ? row : row->other;
}

static int open(struct inode *inode, struct file *file)
{
	struct reading *reading;

	file->private_data = NULL;
	/* The modes are for others than root, who may do what they like. */
	if ((file->f_mode & FMODE_WRITE) && !row_of(file, false))
		return -EACCES;
	if (!(file->f_mode & FMODE_READ))
		return 0;
	if (!row_of(file, true))
		return -EACCES;
	reading = kzalloc(sizeof(*reading), GFP_KERNEL_ACCOUNT);
	if (!reading)
		return -ENOMEM;
	mutex_init(&reading->mutex);
	file->private_data = reading;
	return 0;
}

static int release_file(struct inode *inode, struct file *file)
{
	struct reading *reading = file->private_data;

	if (reading) {
		kvfree(reading->text.at);
		atomic_long_sub(reading->text.bytes, &held);
		kfree(reading);
	}
	return 0;
}

/* Not before something is read: who may open files may open many. */
static int take_memory(struct stapy_procfs_value *text, size_t bytes)
{
	if (atomic_long_add_return(bytes, &held) > max(MAX_HELD, bytes)) {
		atomic_long_sub(bytes, &held);
		return -ENFILE;
	}
	text->at = kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	if (!text->at) {
		atomic_long_sub(bytes, &held);
		return -ENOMEM;
	}
	text->bytes = bytes;
	return 0;
}

static int make(struct stapy_procfs_row *row, struct reading *reading)
{
	struct stapy_procfs_value *text = &reading->text;
	int r;

	r = text->at ? 0 : take_memory(text, bytes_of(row));
	if (r)
		return r;
	text->length = 0;
	text->lost = 0;
	text->at[0] = '\0';
	r = look(row, text);
	reading->made = !r;
	if (text->lost && !test_and_set_bit(0, &row->cut))
		stapy_warn("%s: %zu bytes of $value did not fit into %zu; .maxsize(N) makes room",
			   row->site.point, text->lost, text->bytes - 1);
	return r;
}

static bool begin_call(void)
{
	atomic_inc(&under_way);
	smp_mb__after_atomic();	/* either we see `closing`, or who sets it sees us */
	if (!READ_ONCE(closing) && try_module_get(THIS_MODULE))
		return true;
	atomic_dec(&under_way);
	return false;
}

/* The caller is in proc_reg_read() or write(), which the module's end waits for. */
static void end_call(void)
{
	atomic_dec(&under_way);
	module_put(THIS_MODULE);
}

static ssize_t read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	struct reading *reading = file->private_data;
	ssize_t n = 0;

	if (!begin_call())
		return -ENODEV;
	if (mutex_lock_killable(&reading->mutex)) {
		end_call();
		return -EINTR;
	}
	if (!*at || !reading->made)
		n = make(row_of(file, true), reading);
	if (!n)
		n = simple_read_from_buffer(to, bytes, at, reading->text.at, reading->text.length);
	mutex_unlock(&reading->mutex);
	end_call();
	return n;
}

/*
 * All that wait for what is written, in the order of the script. Only a hit that the first one had
 * to skip is told, for who then writes again shall not be heard twice by the others.
 */
static int hits(struct stapy_procfs_row *row, struct stapy_procfs_value *text)
{
	int r = look(row, text);

	while ((row = row->next) && r != -EAGAIN && r != -ENODEV)
		if (look(row, text) == -EIO)
			r = -EIO;
	return r;
}

/*
 * As much of it as a string holds is a hit, up to a NUL if there is one; who has more writes again.
 * The position is left to readers: who writes a question may read the answer.
 */
static ssize_t take_text(struct stapy_procfs_row *row, const char __user *from, size_t bytes)
{
	struct stapy_procfs_value text = { .bytes = min_t(size_t, bytes + 1, stapy_session.limits.maxstringlen) };
	size_t n = text.bytes - 1;
	int r;

	text.at = memdup_user_nul(from, n);
	if (IS_ERR(text.at))
		return PTR_ERR(text.at);
	text.length = strlen(text.at);
	r = hits(row, &text);
	n = min(n, text.length + 1);
	kfree(text.at);
	return r ?: n;
}

static ssize_t write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	ssize_t n;

	if (!bytes)
		return 0;
	if (!begin_call())
		return -ENODEV;
	n = take_text(row_of(file, false), from, bytes);
	end_call();
	return n;
}

static const struct proc_ops file_ops = {
	.proc_open = open,
	.proc_read = read,
	.proc_write = write,
	.proc_lseek = default_llseek,
	.proc_release = release_file,
};

/* Has a row before this one a file below the same `length` bytes of path? */
static bool is_made(const struct stapy_procfs_row *rows, unsigned int at, size_t length)
{
	unsigned int i;

	for (i = 0; i < at; i++)
		if (!strncmp(rows[i].path, rows[at].path, length + 1))
			return true;
	return false;
}

static int make_folders(struct stapy_procfs_row *rows, unsigned int at)
{
	const char *path = rows[at].path, *slash = path;
	char *name;
	bool made;

	while ((slash = strchr(slash, '/'))) {
		if (!is_made(rows, at, slash - path)) {
			name = kstrndup(path, slash - path, GFP_KERNEL);
			made = name && proc_mkdir(name, folder);
			kfree(name);
			if (!made)
				return -ENOMEM;
		}
		slash++;
	}
	return 0;
}

/* The first row of a file in one direction from `at` on. */
static struct stapy_procfs_row *find(struct stapy_procfs_row *rows, unsigned int count, unsigned int at,
				     const char *path, bool is_read)
{
	for (; at < count; at++)
		if (rows[at].is_read == is_read && !strcmp(rows[at].path, path))
			return &rows[at];
	return NULL;
}

static void find_others(struct stapy_procfs_row *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		rows[i].other = find(rows, count, 0, rows[i].path, !rows[i].is_read);
		rows[i].next = find(rows, count, i + 1, rows[i].path, rows[i].is_read);
	}
}

/* What the rows of a file allow together; this is the first of them. */
static umode_t mode_of(const struct stapy_procfs_row *first)
{
	const struct stapy_procfs_row *row;
	umode_t mode = 0;

	for (row = first; row; row = row->next)
		mode |= row->mode;
	for (row = first->other; row; row = row->next)
		mode |= row->mode;
	return mode;
}

static void remove_files(void)
{
	stapy_procfs_remove_folder(folder);
	folder = NULL;
}

static void stop(void *table, unsigned int count)
{
	unsigned long end = jiffies + msecs_to_jiffies(PATIENCE_MS);

	WRITE_ONCE(closing, true);
	smp_mb();	/* see begin_call() */
	while (atomic_read(&under_way) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	if (!atomic_read(&under_way))
		remove_files();
	else
		stapy_warn("somebody is in a read or write of /proc/%s/%s and sleeps: the module cannot be removed before that ends",
			   STAPY_PROCFS_ROOT, stapy_session.name);
}

/* What stop() had to leave; when the module goes, nobody is in there. */
static void release(void *table, unsigned int count)
{
	if (folder && !atomic_read(&under_way))
		remove_files();
}

/* A file is the user's whom the session is for, as in SystemTap. */
static int make_file(struct stapy_procfs_row *row)
{
	struct proc_dir_entry *made =
		proc_create_data(row->path, mode_of(row), folder, &file_ops, row);

	if (made && uid_valid(stapy_session_user()))
		proc_set_user(made, stapy_session_user(), GLOBAL_ROOT_GID);
	return made ? 0 : -ENOMEM;
}

static int start(void *table, unsigned int count)
{
	struct stapy_procfs_row *rows = table;
	unsigned int i;
	int r;

	find_others(rows, count);
	folder = stapy_procfs_make_folder();
	r = folder ? 0 : -ENOMEM;
	for (i = 0; i < count && !r; i++) {
		struct stapy_procfs_row *row = &rows[i];

		if (is_made(rows, i, strlen(row->path)))
			continue;
		r = make_folders(rows, i) ?: make_file(row);
	}
	if (r)
		stop(table, count);
	return r;
}

const struct stapy_family stapy_procfs = {
	.name = "procfs",
	.early = true,
	.start = start,
	.stop = stop,
	.release = release,
};
