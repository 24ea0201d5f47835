// SPDX-License-Identifier: GPL-2.0-or-later
/* What the runtime calls and does not bring along. */
#include "internal.h"

#include <sys/mman.h>

#define MOST_PAGES 4096

int shim_fence;
__thread int shim_cpu;

/* Pages are those of one file, so that they can be mapped twice. */
static int file = -1;
static unsigned int pages, pages_in_use;
u64 shim_ahead_ns;

int scnprintf(char *to, size_t bytes, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to, bytes, format, args);
	va_end(args);
	return min(n, (int)bytes - 1);
}

struct page *alloc_pages_node(int node, int flags, unsigned int order)
{
	if (file < 0)
		file = memfd_create("pages", MFD_CLOEXEC);
	if (pages == MOST_PAGES || ftruncate(file, (pages + 1) * PAGE_SIZE))
		return NULL;
	pages_in_use++;
	return (struct page *)(uintptr_t)++pages;
}

void __free_page(struct page *page)
{
	if (!--pages_in_use)
		pages = 0;
}

static size_t mapped_bytes;		/* of each area: all rings are alike */

void *vmap(struct page **list, unsigned int count, int flags, int protection)
{
	char *area = mmap(NULL, count * PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	if (area == MAP_FAILED)
		return NULL;
	mapped_bytes = count * PAGE_SIZE;
	for (i = 0; i < count; i++)
		if (mmap(area + i * PAGE_SIZE, PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, file,
			 ((uintptr_t)list[i] - 1) * PAGE_SIZE) == MAP_FAILED)
			return NULL;
	return area;
}

void vunmap(void *address)
{
	if (address)
		munmap(address, mapped_bytes);
}

void *stapy_alloc(size_t count, size_t bytes)
{
	return calloc(count, bytes);
}

void *stapy_alloc_node(size_t bytes, int node)
{
	return calloc(1, bytes);
}

u64 stapy_memory_free(void)
{
	return U32_MAX;
}

bool stapy_memory_allows(u64 bytes)
{
	return true;
}

bool stapy_error(struct stapy_context *c, const char *place, const char *format, ...)
{
	va_list args;

	if (c && !c->error) {
		va_start(args, format);
		vsnprintf(c->error_text, sizeof(c->error_text), format, args);
		va_end(args);
		c->error = c->error_text;
	}
	return false;
}

void stapy_warn(const char *format, ...)
{
}

void stapy_skip(enum stapy_skip reason, const struct stapy_probe *probe)
{
}

bool stapy_read_kernel(struct stapy_context *c, void *to, unsigned long address, size_t size,
		       const char *place)
{
	memcpy(to, (void *)address, size);
	return true;
}

bool stapy_read_user(struct stapy_context *c, void *to, unsigned long address, size_t size,
		     const char *place)
{
	return stapy_read_kernel(c, to, address, size, place);
}
