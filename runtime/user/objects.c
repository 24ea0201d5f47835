// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of programs and libraries, as the consumer sends them. */
#include <linux/file.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/string.h>
#include <linux/random.h>
#include <linux/uaccess.h>

#include "../arch/user_frame.h"
#include "../internal.h"
#include "../line_table.h"
#include "../transport/control.h"
#include "../transport/files.h"
#include "objects.h"

#define BUCKETS 1024			/* a power of two */
#define MAGIC 0x4f555453		/* "STUO" */
#define VERSION 3
#define OWNERS 64

#define MEMORY 64			/* MiB of all tables, without -D STAPY_OBJECT_MEMORY */
#define LEAST SZ_4K			/* that an object is charged for: they are searched in probes */

struct head {
	u32 magic, version;
	u64 base;
	s64 delta;
	u64 span;
	u32 nr_first, nr_rows, nr_rules, nr_names, text_bytes, line_bytes;
} __packed;

static struct stapy_object *buckets[BUCKETS];
static struct stapy_object *vdso;
static u32 seed;
static u64 bytes_used, others_used;
/* By owners of files other than root; those that come late share the last place. */
static struct {
	u32 owner;
	u64 bytes;
} shares[OWNERS];
static DEFINE_MUTEX(taking);

static u64 *share_of(u32 owner)
{
	unsigned int i;

	for (i = 0; i < OWNERS - 1 && shares[i].bytes && shares[i].owner != owner; i++)
		;
	shares[i].owner = owner;
	return &shares[i].bytes;
}

/* Others may choose the numbers of their files, but not that they meet in one bucket. */
static struct stapy_object **bucket_of(dev_t device, unsigned long number)
{
	return &buckets[jhash_3words(device, number, (u64)number >> 32, seed) & (BUCKETS - 1)];
}

static const struct stapy_object *object_of(const struct inode *inode)
{
	const struct stapy_object *o;

	for (o = smp_load_acquire(bucket_of(inode->i_sb->s_dev, inode->i_ino)); o; o = o->next)
		if (o->number == inode->i_ino && o->device == inode->i_sb->s_dev &&
		    o->generation == inode->i_generation && o->bytes == i_size_read(inode))
			return o;
	return NULL;
}

/* --- tables --- */

static const void *part(const char **at, const char *end, u64 count, size_t bytes)
{
	const char *start = *at;

	if (count > (u64)(end - start) / bytes)
		return NULL;
	*at += count * bytes;
	return start;
}

/* What is wrong here would be read beyond, or never end. */
static bool is_sound(const struct stapy_object *o)
{
	u32 i;

	for (i = 0; i < o->nr_first; i++)
		if (o->first[i] > o->nr_rows || (i && o->first[i] < o->first[i - 1]))
			return false;
	for (i = 0; i < o->nr_rows; i++)
		if (o->chosen[i] >= o->nr_rules)
			return false;
	for (i = 0; i < o->nr_rules; i++)
		if (o->rules[i].kind >= STAPY_FRAME_KINDS)
			return false;
	for (i = 0; i < o->nr_names; i++)
		if (o->names[i].at >= o->text_bytes ||
		    (i && o->names[i].start < o->names[i - 1].start))
			return false;
	if (o->line_bytes && !stapy_line_is_sound(o->lines, o->line_bytes))
		return false;
	return !o->text_bytes || !o->texts[o->text_bytes - 1];
}

static int read_table(struct stapy_object *o, const char *at, size_t bytes)
{
	const struct head *head = (const struct head *)at;
	const char *end = at + bytes;

	if (bytes < sizeof(*head) || head->magic != MAGIC || head->version != VERSION)
		return -EINVAL;
	o->base = head->base;
	o->delta = head->delta;
	o->span = head->span;
	o->nr_first = head->nr_first;
	o->nr_rows = head->nr_rows;
	o->nr_rules = head->nr_rules;
	o->nr_names = head->nr_names;
	o->text_bytes = head->text_bytes;
	o->line_bytes = head->line_bytes;
	at += sizeof(*head);
	o->first = part(&at, end, o->nr_first, sizeof(*o->first));
	o->low = o->first ? part(&at, end, o->nr_rows, sizeof(*o->low)) : NULL;
	o->chosen = o->low ? part(&at, end, o->nr_rows, sizeof(*o->chosen)) : NULL;
	o->rules = o->chosen ? part(&at, end, o->nr_rules, sizeof(*o->rules)) : NULL;
	o->names = o->rules ? part(&at, end, o->nr_names, sizeof(*o->names)) : NULL;
	o->texts = o->names ? part(&at, end, o->text_bytes, 1) : NULL;
	o->lines = o->texts ? part(&at, end, o->line_bytes, 1) : NULL;
	return o->lines && is_sound(o) ? 0 : -EINVAL;
}

static void free_object(struct stapy_object *o)
{
	if (!o)
		return;
	kvfree(o->table);
	kfree(o);
}

/*
 * What is left of the memory has root's files first: those of another owner get a quarter, and those
 * of all others together a half, or anybody could end the stacks of everybody's programs.
 */
static int has_room(u32 owner, size_t bytes)
{
	u64 all = (u64)(stapy_session.limits.object_memory ?: MEMORY) << 20;

	if (bytes_used + bytes > all)
		return -ENOSPC;
	if (owner && (*share_of(owner) + bytes > all / 4 || others_used + bytes > all / 2))
		return -EDQUOT;
	return 0;
}

static void account(u32 owner, size_t bytes)
{
	bytes_used += bytes;
	if (owner) {
		*share_of(owner) += bytes;
		others_used += bytes;
	}
}

static struct stapy_object *new_object(const char *name, const char __user *from, size_t bytes)
{
	struct stapy_object *o;
	int r = -ENOMEM;

	o = kzalloc(sizeof(*o) + strlen(name) + 1, GFP_KERNEL);
	if (!o)
		return ERR_PTR(-ENOMEM);
	strcpy(o->name, name);
	o->base_name = kbasename(o->name);
	/* Only a table is aligned for all that is in it. */
	o->table = stapy_alloc(1, bytes);
	if (o->table)
		r = copy_from_user(o->table, from, bytes) ? -EFAULT : read_table(o, o->table, bytes);
	if (r) {
		free_object(o);
		return ERR_PTR(r);
	}
	return o;
}

static int publish(struct stapy_object *o, const struct inode *inode)
{
	struct stapy_object **bucket;

	if (!inode) {
		if (vdso)
			return -EEXIST;
		o->is_vdso = true;
		smp_store_release(&vdso, o);
		return 0;
	}
	if (object_of(inode))
		return -EEXIST;
	o->device = inode->i_sb->s_dev;
	o->number = inode->i_ino;
	o->generation = inode->i_generation;
	o->bytes = i_size_read(inode);
	bucket = bucket_of(o->device, o->number);
	o->next = *bucket;
	smp_store_release(bucket, o);
	return 0;
}

/* fd: of the file, -1 for what the kernel maps into every process. */
static int add(int fd, const char *name, const char __user *from, size_t bytes)
{
	struct file *file = fd < 0 ? NULL : fget_raw(fd);
	const struct inode *inode;
	struct stapy_object *o;
	size_t cost;
	u32 owner;
	int r;

	if (fd >= 0 && !file)
		return -EBADF;
	/* What processes map is the file with the pages, below an overlay. */
	inode = file ? d_real_inode(file->f_path.dentry) : NULL;
	owner = inode ? stapy_object_owner(inode) : 0;
	cost = max_t(size_t, sizeof(*o) + strlen(name) + 1 + bytes, LEAST);
	mutex_lock(&taking);
	if (!bytes_used)
		seed = get_random_u32();
	r = has_room(owner, cost);
	if (!r) {
		o = new_object(name, from, bytes);
		r = PTR_ERR_OR_ZERO(o);
	}
	if (!r) {
		r = publish(o, inode);
		if (r)
			free_object(o);
		else
			account(owner, cost);
	}
	mutex_unlock(&taking);
	if (file)
		fput(file);
	return r == -EEXIST ? 0 : r;
}

int stapy_object_take(const char __user *from, size_t bytes)
{
	size_t most = min_t(size_t, bytes, PATH_MAX + 64);
	char *line, *end;
	int fd, start = 0, r;

	line = memdup_user_nul(from, most);
	if (IS_ERR(line))
		return PTR_ERR(line);
	end = strnchr(line, most, '\n');
	r = end ? 0 : -EINVAL;
	if (!r) {
		size_t head = end + 1 - line;

		*end = '\0';
		r = -EINVAL;
		if (sscanf(line, "object %d %n", &fd, &start) == 1 && start)
			r = add(fd, line + start, from + head, bytes - head);
	}
	kfree(line);
	return r;
}

void stapy_objects_free(void)
{
	struct stapy_object *o;
	unsigned int i;

	stapy_objects_forget();
	for (i = 0; i < BUCKETS; i++) {
		while ((o = buckets[i])) {
			buckets[i] = o->next;
			free_object(o);
		}
	}
	free_object(vdso);
	vdso = NULL;
	bytes_used = others_used = 0;
	memset(shares, 0, sizeof(shares));
}

/* --- lookups --- */

static bool is_vdso(const struct vm_area_struct *area)
{
	return area->vm_start == (unsigned long)current->mm->context.vdso;
}

/*
 * A terminal would obey what anybody has named a file. Controls of 8 bits stand alone, or behind 0xc2
 * in UTF-8; behind other bytes they are a part of a letter.
 */
static void make_printable(char *name)
{
	u8 before = 0, byte;

	for (; (byte = *name); before = byte, name++)
		if (byte < ' ' || byte == 0x7f ||
		    (byte >= 0x80 && byte < 0xa0 && (before < 0x80 || before == 0xc2)))
			*name = '?';
}

bool stapy_user_range_find(unsigned long address, struct stapy_user_range *range)
{
	struct vm_area_struct *area = find_vma(current->mm, address);
	const struct inode *inode;

	if (!area || area->vm_start > address)
		return false;
	range->start = area->vm_start;
	range->end = area->vm_end;
	range->is_code = area->vm_flags & VM_EXEC;
	range->is_file = area->vm_file;
	range->object = NULL;
	range->shift = -area->vm_start;
	range->name[0] = '\0';
	if (area->vm_file) {
		inode = file_inode(area->vm_file);
		range->shift += (u64)area->vm_pgoff << PAGE_SHIFT;
		range->object = object_of(inode);
		if (!range->object) {
			const struct dentry *dentry = area->vm_file->f_path.dentry;

			/* The file may be getting another name. */
			if (copy_from_kernel_nofault(range->name, dentry->d_name.name,
						     sizeof(range->name) - 1))
				range->name[0] = '\0';
			range->name[sizeof(range->name) - 1] = '\0';
			make_printable(range->name);
			/* A device takes being opened for an order. */
			if (range->is_code && S_ISREG(inode->i_mode))
				stapy_object_ask(area->vm_file);
		}
	} else if (range->is_code && is_vdso(area) &&
		   stapy_user_is_64bit(task_pt_regs(current))) {	/* others have one of their own */
		range->object = smp_load_acquire(&vdso);
	}
	return true;
}

const struct stapy_frame_rule *stapy_object_rule(const struct stapy_object *o, u64 at)
{
	u32 block = at >> 10, low, high;

	if (at >> 32 || !o->nr_first || block >= o->nr_first - 1)
		return NULL;
	low = o->first[block];
	high = o->first[block + 1];
	/* The last row at or before the place may be the one before those of this KiB. */
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (o->low[middle] <= (u16)at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &o->rules[o->chosen[low - 1]] : NULL;
}

const struct stapy_object_name *stapy_object_name(const struct stapy_object *o, u64 offset)
{
	u64 at = offset - o->base;
	u32 low = 0, high = o->nr_names;
	unsigned int i;

	if (at >> 32)
		return NULL;
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (o->names[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	/* Functions in functions are few. */
	for (i = 0; i < 4 && low; i++, low--)
		if (at - o->names[low - 1].start < o->names[low - 1].size)
			return &o->names[low - 1];
	return NULL;
}
