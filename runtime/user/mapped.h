/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that variables of scripts are in, wherever a process has them in its memory. */
#ifndef STAPY_USER_MAPPED_H
#define STAPY_USER_MAPPED_H

struct stapy_user_file;

struct stapy_mapped_file {
	const char *name;		/* as the consumer hands it over */
	u64 code;			/* where its code begins in it */
	const struct stapy_user_file *held;
	unsigned long last;		/* where a process had that, as a guess for the next one */
};

/*
 * Where the current process has the beginning of a file's code. False with the error set when it
 * has not, or when its address space cannot be looked at here.
 */
bool stapy_user_mapped(struct stapy_context *c, s64 *to, struct stapy_mapped_file *file,
		       const char *place);

extern const struct stapy_family stapy_mapped_files;

#endif
