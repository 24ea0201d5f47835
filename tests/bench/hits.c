/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop of system calls that prints what one took, by the counter of cycles. In a
 * guest whose clock is the number of instructions executed, that is what it counts.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

enum { WARM = 2000, COUNTED = 20000 };

static int fd;
static char byte;

static inline void call(char kind)
{
	long number = kind == 'g' ? SYS_getppid : kind == 'r' ? SYS_read : SYS_write;
	long result;

	/* Not libc's wrapper: nothing but the trap is to be counted. */
	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"((long)fd), "S"(&byte), "d"(1L)
			 : "rcx", "r11", "memory");
}

int main(int argc, char **argv)
{
	char kind = argc > 1 ? argv[1][0] : 0;
	unsigned long long start;
	int i;

	if (!kind || !strchr("gwr", kind))
		return 2;
	fd = open(kind == 'r' ? "/dev/zero" : "/dev/null", O_RDWR);
	for (i = 0; i < WARM; i++)
		call(kind);
	start = __rdtsc();
	for (i = 0; i < COUNTED; i++)
		call(kind);
	printf("%s %.1f\n", argv[1], (double)(__rdtsc() - start) / COUNTED);
	return 0;
}
