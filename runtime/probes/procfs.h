/* SPDX-License-Identifier: GPL-2.0-or-later */
/* procfs(...): files of the script's own below /proc/systemtap/MODULE. */
#ifndef STAPY_PROCFS_H
#define STAPY_PROCFS_H

struct stapy_procfs_row {
	struct stapy_site site;
	const char *path;		/* relative to the module's folder */
	umode_t mode;
	bool is_read;			/* else it is written */
	unsigned int bytes;		/* of text for a reader, 0: as a string has */
	/* run-time state below */
	struct stapy_procfs_row *other;	/* the first of the same file, the other way */
	struct stapy_procfs_row *next;	/* of the same file, the same way */
	unsigned long cut;		/* bit 0: it was told that a text was too long */
	bool quiet;			/* of a monitor, as the first hit tells */
};

extern const struct stapy_family stapy_procfs;

/* $value: what was written, or what is to be read. Only handlers of this family come here. */
const char *stapy_procfs_text(const struct stapy_context *c);
void stapy_procfs_set(struct stapy_context *c, const char *text);
void stapy_procfs_add(struct stapy_context *c, const char *text);
/* Append a text as JSON has it, in quotes. */
void stapy_procfs_add_json(struct stapy_context *c, const char *text);
/* How far a look is that comes in parts. */
struct stapy_monitor_look *stapy_procfs_look(struct stapy_context *c);

#endif
