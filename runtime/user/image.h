/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where processes have their programs; of the one that runs now see stapy_user_image() in memory.h. */
#ifndef STAPY_USER_IMAGE_H
#define STAPY_USER_IMAGE_H

struct stapy_user_file;
struct task_struct;

/*
 * Where the code of a task's program begins. False when it runs none, or another than this file
 * (NULL: any), though it may have its name. May sleep.
 */
bool stapy_user_image_of(struct task_struct *task, const struct stapy_user_file *build, u64 *start);

#endif
