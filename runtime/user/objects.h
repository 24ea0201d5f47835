/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of programs and libraries, for user stacks: how frames are found in their code,
 * and the names of functions. The consumer makes the tables (stapy/run/frames.py) and sends
 * them, before the session begins and whenever an object is met that has none; they stay until
 * the module goes. An object is known by the numbers of its file, which is not held by that.
 */
#ifndef STAPY_USER_OBJECTS_H
#define STAPY_USER_OBJECTS_H

#include <linux/types.h>

struct file;
struct inode;

enum stapy_frame_kind {
	STAPY_FRAME_UNKNOWN,		/* nothing is described here */
	STAPY_FRAME_SP,		/* CFA = stack pointer + offset */
	STAPY_FRAME_FP,		/* frame pointer + offset */
	STAPY_FRAME_AT_FP,		/* what is at it + 24 bits of offset, + 8 bits */
	STAPY_FRAME_AT_SP,
	STAPY_FRAME_PLT,		/* of the linker's stubs */
	STAPY_FRAME_SIGNAL,		/* the kernel's: all registers are in it */
	STAPY_FRAME_END,		/* nobody has called this */
	STAPY_FRAME_REGISTER,		/* register in the upper 8 bits + 24 bits of offset */
	STAPY_FRAME_NO_WAY,
	STAPY_FRAME_KINDS
};

/*
 * Where the caller's frame pointer is. The return address is right below the CFA, or, where there
 * is a link register, in it until a pair or it alone is stored at the CFA + 8 by.
 */
enum stapy_frame_saved {
	STAPY_SAVED_NOT,		/* still in its register */
	STAPY_SAVED_AT_CFA,
	STAPY_SAVED_AT_FP,
	STAPY_SAVED_LOST,
	STAPY_SAVED_PAIR,		/* of frame pointer and return address */
	STAPY_SAVED_LINK		/* the return address; the frame pointer is still in its register */
};

struct stapy_frame_rule {
	u32 offset;
	s16 by;
	u8 kind, saved;
};

struct stapy_object_name {
	u32 start, size;		/* from the base */
	u32 at;				/* of the text */
};

struct stapy_object {
	struct stapy_object *next;
	dev_t device;
	unsigned long number;
	u32 generation;
	loff_t bytes;
	bool is_vdso;
	void *table;
	u64 base;			/* offset in the file that rows and names count from */
	s64 delta;			/* from an offset to the address that it was linked with */
	u64 span;			/* bytes of memory that it takes */
	u32 nr_first, nr_rows, nr_rules, nr_names, text_bytes;
	const u32 *first;		/* first row at or behind each KiB from the base */
	const u16 *low;			/* low half of a row's place; each 64 KiB begin with a row */
	const u16 *chosen;		/* a row's rule */
	const struct stapy_frame_rule *rules;
	const struct stapy_object_name *names;
	const char *texts;
	u32 line_bytes;			/* 0: no source lines */
	const u8 *lines;		/* see line_table.h; places from the base */
	const char *base_name;		/* without its folder */
	char name[];			/* path, as the process has it */
};

/* Part of an address space. */
struct stapy_user_range {
	unsigned long start, end;
	u64 shift;			/* from an address to the offset in the file */
	const struct stapy_object *object;	/* NULL: none, or nothing is known of it */
	bool is_file, is_code;
	char name[40];			/* of the file without its folder, when nothing is known of it */
};

/* A file that was met and of which nothing is known: a message "object NUMBER OWNER". */
void stapy_object_ask(struct file *file);
/* Whom the memory for the table of a file is charged to. */
u32 stapy_object_owner(const struct inode *inode);
u64 stapy_object_key(dev_t device, unsigned long number);

/* A table from the consumer, behind its line "object FD NAME"; in process context. */
int stapy_object_take(const char __user *from, size_t bytes);
/* A file that the consumer was asked for, as a descriptor of the caller's; or a negative errno. */
int stapy_object_fetch(unsigned int number);
/* Let go of files that nobody has fetched: when nobody is there to. */
void stapy_objects_forget(void);
void stapy_objects_free(void);
/*
 * The part of the current address space that an address is in; false when there is none. The
 * caller holds the lock of the address space. Asks the consumer for what is not known.
 */
bool stapy_user_range_find(unsigned long address, struct stapy_user_range *range);
/* The rule that holds at a place, counted from the base, or NULL. */
const struct stapy_frame_rule *stapy_object_rule(const struct stapy_object *object, u64 at);
/* The function that an offset is in, or NULL. */
const struct stapy_object_name *stapy_object_name(const struct stapy_object *object, u64 offset);

#endif
