/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop of calls that prints what one took, by the counter of cycles, as hits.c does it of
 * system calls. Names of the functions: how their first instruction is run by the kernel when it
 * is probed, and how many frames are above them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>
#include "sys/sdt.h"

enum { WARM = 200, COUNTED = 4000 };	/* user.py has their sum */

/* Callers are left by calls, never by jumps, and keep registers as programs do. */
#define PLAIN __attribute__((noipa, optimize("no-optimize-sibling-calls")))

__asm__(".globl emulated\n.type emulated, @function\nemulated:\n"
	".cfi_startproc\n push %rbp\n.cfi_def_cfa_offset 16\n pop %rbp\n.cfi_def_cfa_offset 8\n"
	" ret\n.cfi_endproc\n.size emulated, .-emulated\n"
	".globl stepped\n.type stepped, @function\nstepped:\n"
	".cfi_startproc\n sub $8, %rsp\n.cfi_def_cfa_offset 16\n add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size stepped, .-stepped\n");
/* By chance a byte around it may look like a jump behind its endbr64: it has nobody near. */
__asm__(".skip 160, 0xcc\n.globl landing\n.type landing, @function\nlanding:\n"
	".cfi_startproc\n endbr64\n push %rbp\n.cfi_def_cfa_offset 16\n pop %rbp\n"
	".cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size landing, .-landing\n"
	".skip 160, 0xcc\n");
void emulated(const char *text);
void landing(const char *text);
void stepped(const char *text);

PLAIN static void mark(const char *text) { STAP_PROBE1(bench, mark, text); }

PLAIN static void asked(const char *text)
{
	(void)text;
	syscall(SYS_getppid);
}

static void (*called)(const char *text);

PLAIN static int nested(int depth)
{
	if (!depth)
		called("text");
	else
		nested(depth - 1);
	return depth;
}

int main(int argc, char **argv)
{
	int depth = argc > 2 ? atoi(argv[2]) : 0, i;
	unsigned long long start;

	if (argc < 2)
		return 2;
	called = !strcmp(argv[1], "emulated") ? emulated :
		 !strcmp(argv[1], "stepped")  ? stepped :
		 !strcmp(argv[1], "landing")  ? landing :
		 !strcmp(argv[1], "asked")    ? asked : mark;
	for (i = 0; i < WARM; i++)
		nested(depth);
	start = __rdtsc();
	for (i = 0; i < COUNTED; i++)
		nested(depth);
	printf("%s %.1f\n", argv[1], (double)(__rdtsc() - start) / COUNTED);
	return 0;
}
