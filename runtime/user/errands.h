/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errands: what a task is asked to do itself, where it may sleep: before it goes on in user mode, or
 * at its end. Memory for them is there from the start, since they are sent from anywhere.
 */
#ifndef STAPY_USER_ERRANDS_H
#define STAPY_USER_ERRANDS_H

#include <linux/task_work.h>

struct stapy_errands;

struct stapy_errand {
	struct callback_head work;
	struct task_struct *task;
	struct stapy_errands *of;
	atomic_t taken;
};

enum stapy_errand_pool {
	STAPY_ERRANDS_AGAIN,		/* places that are taken by one after the other */
	STAPY_ERRANDS_ONCE,		/* one for each task that there was at the start */
	STAPY_ERRAND_POOLS
};

/* Those of one family. */
struct stapy_errands {
	void (*run)(void);		/* in the task */
	struct {
		struct stapy_errand *places;
		unsigned int count;
	} pools[STAPY_ERRAND_POOLS];
	atomic_t turn;
	atomic_t outstanding;		/* those that are taken, and one for the session */
	bool ran;
};

/* Before all else; what is wrong is told. May sleep, as all that is not said to be for any context. */
int stapy_errands_open(struct stapy_errands *errands);
int stapy_errands_pool(struct stapy_errands *errands, enum stapy_errand_pool pool,
		       unsigned int count);
/* Take a place, in any context; false when it is taken. */
bool stapy_errand_take(struct stapy_errands *errands, struct stapy_errand *errand);
/* Take one of those that are used again; NULL when none is free. */
struct stapy_errand *stapy_errand_any(struct stapy_errands *errands);
/* Send one that was taken. A task that ends has nothing to do: then false, and the place is free again. */
bool stapy_errand_send(struct stapy_errand *errand, struct task_struct *task,
		       enum task_work_notify_mode notify);
/* Take back what was not run. What is left then holds the module, and finds the session over. */
void stapy_errands_close(struct stapy_errands *errands);
/* Let go of the memory, when the module is about to go; not while an errand is out. */
void stapy_errands_free(struct stapy_errands *errands);

#endif
