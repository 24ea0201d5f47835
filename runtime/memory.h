/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checked access to memory that a script names. Safe in NMI, with any address. */
#ifndef STAPY_MEMORY_H
#define STAPY_MEMORY_H

/*
 * Read size (1, 2, 4, 8) bytes; false with "read fault [man error::fault] at 0x… PLACE" set.
 *
 * Compilers that write no address spaces into debug information, gcc among them, do not tell
 * pointers that are __user. Where no address is both the kernel's and a user's, the address
 * does: the "kernel" ones read and write user memory at a user's address.
 */
bool stapy_read_kernel(struct stapy_context *c, void *to, unsigned long address, size_t size, const char *place);
bool stapy_read_user(struct stapy_context *c, void *to, unsigned long address, size_t size, const char *place);
bool stapy_write_kernel(struct stapy_context *c, unsigned long address, const void *from, size_t size, const char *place);
bool stapy_write_user(struct stapy_context *c, unsigned long address, const void *from, size_t size, const char *place);

/*
 * Memory of the program was not there. True: it will be, and the hit is run once more, so leave
 * it at once. It is over where it is known that something was changed or printed already, that
 * nobody can wait, or that it was waited for in vain.
 */
bool stapy_missed(struct stapy_context *c, unsigned long address, size_t bytes);

/* The same without an error message, for code with its own: 0 or -EFAULT. */
int stapy_peek_kernel(void *to, unsigned long address, size_t size);
int stapy_peek_user(void *to, unsigned long address, size_t size);
/* Of the kernel, or of a user where the address is one. */
int stapy_peek_any(void *to, unsigned long address, size_t size);

/* A task that is nobody else's by any of its user ids. */
static inline bool stapy_owns(struct task_struct *task)
{
	const struct cred *cred;
	bool owned;

	rcu_read_lock();
	cred = __task_cred(task);
	owned = uid_eq(cred->uid, stapy_session.owner) && uid_eq(cred->euid, stapy_session.owner) &&
		uid_eq(cred->suid, stapy_session.owner);
	rcu_read_unlock();
	return owned;
}

/*
 * True when the current task belongs to the user who runs the session: one whose memory that user
 * could look at by a debugger as well. Programs that take on a user's id for a while (a file
 * server), or had another one before, have secrets.
 */
static inline bool stapy_is_myproc(void)
{
	return stapy_owns(current) &&
	       (!current->mm || stapy_is_dumpable(current, current->mm));
}

/* False, with an error set, when it does not: for functions that are marked myproc-unprivileged. */
bool stapy_assert_myproc(struct stapy_context *c, const char *place);

/* A register of the probed kernel or user code by its offset in pt_regs; false with an error set when there are none. */
bool stapy_kernel_register(struct stapy_context *c, s64 *to, unsigned int offset, const char *place);
bool stapy_user_register(struct stapy_context *c, s64 *to, unsigned int offset, const char *place);

/* The lowest 8 bytes of a vector register (xmm0 to xmm15) of the program that runs now. */
s64 stapy_user_vector(unsigned int number);
/* Where this thread of the program has its own variables: the base of fs. */
s64 stapy_user_thread_base(void);
/* Where the code of the program begins that the process runs; 0 for one that has let go of it. */
s64 stapy_user_image(void);

/* Copy a string of at most bytes - 1 characters and its NUL. Length, or -EFAULT. */
long stapy_peek_kernel_string(char *to, unsigned long address, size_t bytes);
long stapy_peek_user_string(char *to, unsigned long address, size_t bytes);

#endif
