// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/stapy_<module>/output, or output0, output1, ... in bulk mode: who reads, and when. */
#include "../internal.h"
#include "files.h"
#include "outputs.h"

#define TRICKLE_MS 100

DEFINE_MUTEX(stapy_output_mutex);

static unsigned long last_read;		/* jiffies when output had been emptied */

/* What an output file is of: a CPU in bulk mode, else all of them. */
#define ALL_CPUS (-1)

static int cpu_of(struct file *file)
{
	return (long)stapy_proc_data(file_inode(file));
}

static bool is_readable(int cpu)
{
	return cpu == ALL_CPUS ? stapy_rings_readable() : stapy_ring_readable(cpu);
}

static bool is_filling(int cpu)
{
	return cpu == ALL_CPUS ? stapy_rings_filling() : stapy_ring_filling(cpu);
}

/*
 * A trickle is read ten times a second at most: each read costs the consumer
 * some system calls, and a script that traces those would chase itself.
 */
static bool output_ripe(int cpu)
{
	if (!is_readable(cpu))
		return false;
	return stapy_is_over() || time_after_eq(jiffies, READ_ONCE(last_read) + msecs_to_jiffies(TRICKLE_MS)) ||
	       is_filling(cpu);
}

bool stapy_outputs_ripe(void)
{
	return output_ripe(ALL_CPUS);
}

static int output_release(struct inode *inode, struct file *file)
{
	stapy_files_leave();
	return 0;
}

static ssize_t output_read(struct file *file, char __user *to, size_t bytes, loff_t *unused)
{
	ssize_t n;
	int cpu = cpu_of(file);
	bool last, more;

	if (!bytes)
		return 0;
	for (;;) {
		/* Read before the rings are: what comes after the end cannot be missed. */
		last = stapy_is_over();
		if (last || output_ripe(cpu)) {
			if (mutex_lock_interruptible(&stapy_output_mutex))
				return -ERESTARTSYS;
			n = cpu == ALL_CPUS ? stapy_rings_read(to, bytes, &more) :
					      stapy_ring_read_bulk(cpu, to, bytes, &more);
			/* Who is attached takes all from here on; until then the newest was kept. */
			if (stapy_files_attended())
				stapy_rings_overwrite(false);
			if (!more)
				WRITE_ONCE(last_read, jiffies);
			mutex_unlock(&stapy_output_mutex);
			if (n || last)
				return n;
		}
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(stapy_readers, output_ripe(cpu) || stapy_is_over()))
			return -ERESTARTSYS;
	}
}

static __poll_t output_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &stapy_readers, table);
	if (output_ripe(cpu_of(file)))
		return EPOLLIN | EPOLLRDNORM;
	return stapy_is_over() ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}

static const struct proc_ops output_ops = {
	.proc_open = stapy_files_open,
	.proc_release = output_release,
	.proc_read = output_read,
	.proc_poll = output_poll,
	.proc_lseek = noop_llseek,
};

/* What the prints of the script tell, for whoever takes them as records. */
static ssize_t records_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	return simple_read_from_buffer(to, bytes, at, stapy_session.records, strlen(stapy_session.records));
}

static const struct proc_ops records_ops = {
	.proc_read = records_read,
	.proc_lseek = default_llseek,
};

int stapy_outputs_create(struct proc_dir_entry *directory)
{
	char name[24];
	long cpu;

	if (stapy_session.records && !proc_create("records", 0400, directory, &records_ops))
		return -ENOMEM;

	/* jiffies start far from 0: the first output is ripe at once */
	last_read = jiffies - msecs_to_jiffies(TRICKLE_MS);
	if (!stapy_session.limits.bulk)
		return proc_create_data("output", 0600, directory, &output_ops, (void *)(long)ALL_CPUS) ?
		       0 : -ENOMEM;
	/* Also of those that may come later. */
	for_each_possible_cpu(cpu) {
		snprintf(name, sizeof(name), "output%ld", cpu);
		if (!proc_create_data(name, 0600, directory, &output_ops, (void *)cpu))
			return -ENOMEM;
	}
	return 0;
}
