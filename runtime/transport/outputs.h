/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What files.c and outputs.c know of each other. */
#ifndef STAPY_OUTPUTS_H
#define STAPY_OUTPUTS_H

/* outputs.c */
extern struct mutex stapy_output_mutex;		/* of whoever reads, or frees, the rings */
int stapy_outputs_create(struct proc_dir_entry *directory);
/* Some output is worth a read. */
bool stapy_outputs_ripe(void);

/* files.c */
extern wait_queue_head_t stapy_readers;
int stapy_files_open(struct inode *inode, struct file *file);
void stapy_files_leave(void);

static inline bool stapy_is_over(void)
{
	return stapy_state() == STAPY_STOPPED;
}

#endif
