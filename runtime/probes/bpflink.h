/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks at the entry and the return of BPF programs, in the kernel's trampolines. All of this may sleep. */
#ifndef STAPY_BPFLINK_H
#define STAPY_BPFLINK_H

#include "bpfnames.h"

#ifdef STAPY_BPF_PROBES

/* A program as the kernel's trampolines want it. Its "instructions" begin where it ends. */
struct stapy_bpf_hook {
	struct bpf_tramp_link link;
	struct bpf_prog_aux aux;
	void *place;			/* whose hook it is */
	bool linked;
	struct bpf_prog program;	/* the last: it has a flexible end */
};

/* Called with the arguments on the trampoline's frame; the instructions tell the hook. */
typedef unsigned int stapy_bpf_code_t(const void *frame, const struct bpf_insn *instructions);

/* Find what is called below; NULL, or the name of what this kernel lacks. */
const char *stapy_bpf_prepare(void);
/* The programs that run, one after the other; each is released by asking for the next. */
struct bpf_prog *stapy_bpf_each(struct bpf_prog *last);

/* NULL without memory. */
struct stapy_bpf_hook *stapy_bpf_make_hook(void *place, enum bpf_attach_type kind,
					  stapy_bpf_code_t *code);
void stapy_bpf_free_hook(struct stapy_bpf_hook *hook);

/* 0 or a negative errno, with which the trampoline may have to be released as well. */
int stapy_bpf_trampoline(const struct bpf_prog *target, unsigned int function,
			 struct bpf_trampoline **trampoline);
void stapy_bpf_release(struct bpf_trampoline *trampoline);

/* Hooks may be NULL; unlinking one that is not linked does nothing. */
int stapy_bpf_link_hook(struct stapy_bpf_hook *hook, struct bpf_trampoline *trampoline,
			struct bpf_prog *target);
void stapy_bpf_unlink_hook(struct stapy_bpf_hook *hook, struct bpf_trampoline *trampoline,
			   struct bpf_prog *target);
/* Until nobody is in the code of hooks that were unlinked. */
void stapy_bpf_wait(void);

/* Why a function cannot be probed, why linking failed; NULL when there is nothing to say. */
const char *stapy_bpf_refusal(const struct bpf_prog *target, unsigned int function,
			      bool is_return);
const char *stapy_bpf_reason(int error);

#endif

#endif
