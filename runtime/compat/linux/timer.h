/* SPDX-License-Identifier: GPL-2.0-or-later */
/* del_timer_sync() is called timer_delete_sync() since 6.2; the old name went in 6.15. */
#ifndef STAPY_COMPAT_TIMER_H
#define STAPY_COMPAT_TIMER_H

static inline void stapy_timer_cancel(struct timer_list *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	timer_delete_sync(timer);
#else
	del_timer_sync(timer);
#endif
}

#endif
