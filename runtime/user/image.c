// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a process has its program. */
#include "../arch/machine.h"
#include "../internal.h"
#include "../memory.h"

#include <linux/file.h>
#include <linux/sched/mm.h>

#include "../compat/linux/file.h"
#include "files.h"
#include "image.h"

bool stapy_user_image_of(struct task_struct *task, const struct stapy_user_file *build, u64 *start)
{
	struct mm_struct *mm = get_task_mm(task);
	struct file *file = mm ? stapy_exe_file(mm) : NULL;
	bool is = file && (!build || file_inode(file) == build->real ||
			   d_real_inode(file->f_path.dentry) == build->real);

	*start = mm ? READ_ONCE(mm->start_code) : 0;
	if (file)
		fput(file);
	if (mm)
		mmput(mm);
	return is;
}

/* The first byte of code: exec sets it, before the program runs. A process that ends has none. */
s64 stapy_user_image(void)
{
	return current->mm ? READ_ONCE(current->mm->start_code) : 0;
}

/* The processor has it while the program's context does: the kernel uses the other one. */
s64 stapy_user_thread_base(void)
{
	return stapy_thread_base();
}
