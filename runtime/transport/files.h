/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The procfs files of the session. */
#ifndef STAPY_FILES_H
#define STAPY_FILES_H

int stapy_files_create(void);
void stapy_files_remove(void);
/* Wake whoever waits for output or messages; process context. */
void stapy_files_wake(void);

/* session.c: what the consumer may ask for. */
/* With the target of -c or -x, and the process whose name spaces are meant; 0 without. */
int stapy_session_start(int target, int spaces);
/* A program that probe points name, opened by the consumer; before the session starts. */
int stapy_session_file(int fd, const char *name);
/* The consumer's command "object", with a table behind its line. */
int stapy_session_object(const char __user *from, size_t bytes);
/* The consumer's ioctl: the file that a message "object NUMBER" is about. */
int stapy_session_fetch(unsigned int number);
/* Nobody has control open any more. */
void stapy_session_left(void);
/* Has anybody? */
bool stapy_files_attended(void);
void stapy_session_stop(void);
/* Free what a session that has ended needs no more: arrays, output, frames. */
void stapy_session_free(void);

#endif
