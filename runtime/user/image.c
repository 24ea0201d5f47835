// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a process has its program. */
#include "../internal.h"
#include "../memory.h"

#include <linux/mm_types.h>
#include <linux/sched.h>

/* The first byte of code: exec sets it, before the program runs. A process that ends has none. */
s64 stapy_user_image(void)
{
	return current->mm ? READ_ONCE(current->mm->start_code) : 0;
}
