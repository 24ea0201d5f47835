/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel uses itself to attach a program to another one; not in
 * compat/kernel.h, since only one family needs it. Nothing of it is exported. It is
 * found by name and called by static calls: they are direct once they are set, so it
 * does not matter that the kernel has taken the landing marks of indirect branches away.
 */
#ifndef STAPY_COMPAT_BPF_H
#define STAPY_COMPAT_BPF_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/glob.h>
#include <linux/rcupdate.h>
#include <linux/static_call.h>
#include <linux/workqueue.h>

/* Links of trampolines came with 6.0, the number of arguments in front of them with 5.17. */
#if defined(CONFIG_BPF_SYSCALL) && defined(CONFIG_BPF_JIT) && !defined(CONFIG_CFI_CLANG) && \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 0, 0)
#define STAPY_BPF_PROBES 1

/* What is linked to a trampoline: since 7.2 a part of the link, which refers to the whole. */
#if STAPY_HAVE_BPF_TRAMP_NODE
#define stapy_bpf_linked bpf_tramp_node
#define stapy_bpf_linked_of(link) (&(link)->node)
#else
#define stapy_bpf_linked bpf_tramp_link
#define stapy_bpf_linked_of(link) (link)
#endif

/* Since 6.13, and in stable releases before, the target is an argument, too; others ignore it. */
typedef int stapy_bpf_link_t(struct stapy_bpf_linked *linked, struct bpf_trampoline *trampoline,
			     struct bpf_prog *target);

DECLARE_STATIC_CALL(stapy_bpf_lookup, kallsyms_lookup_name);
DECLARE_STATIC_CALL(stapy_bpf_next, bpf_prog_get_curr_or_next);
DECLARE_STATIC_CALL(stapy_bpf_model, btf_distill_func_proto);
DECLARE_STATIC_CALL(stapy_bpf_get, bpf_trampoline_get);
DECLARE_STATIC_CALL(stapy_bpf_put, bpf_trampoline_put);
/* Whose lock is not the trampoline's: since 7.2. */
#if !STAPY_HAVE_BPF_TRAMPOLINE_MUTEX
DECLARE_STATIC_CALL(stapy_bpf_set_flags, bpf_trampoline_set_flags);
#endif
DECLARE_STATIC_CALL(stapy_bpf_link, *(stapy_bpf_link_t *)NULL);
DECLARE_STATIC_CALL(stapy_bpf_unlink, *(stapy_bpf_link_t *)NULL);

#define STAPY_BPF_FIND(call, symbol)						\
	({									\
		unsigned long _found = static_call(stapy_bpf_lookup)(symbol);	\
										\
		if (_found)							\
			static_call_update(call, (void *)_found);		\
		!!_found;							\
	})

/* NULL when all was found, else the name of what was not. May sleep. */
static inline const char *stapy_bpf_find(void)
{
	unsigned long lookup = stapy_symbol_address("kallsyms_lookup_name");

	if (!lookup)
		return "kallsyms_lookup_name";
	static_call_update(stapy_bpf_lookup, (void *)lookup);
	if (!STAPY_BPF_FIND(stapy_bpf_next, "bpf_prog_get_curr_or_next"))
		return "bpf_prog_get_curr_or_next";
	if (!STAPY_BPF_FIND(stapy_bpf_model, "btf_distill_func_proto"))
		return "btf_distill_func_proto";
	if (!STAPY_BPF_FIND(stapy_bpf_get, "bpf_trampoline_get"))
		return "bpf_trampoline_get";
	if (!STAPY_BPF_FIND(stapy_bpf_put, "bpf_trampoline_put"))
		return "bpf_trampoline_put";
	if (!STAPY_BPF_FIND(stapy_bpf_link, "bpf_trampoline_link_prog"))
		return "bpf_trampoline_link_prog";
	if (!STAPY_BPF_FIND(stapy_bpf_unlink, "bpf_trampoline_unlink_prog"))
		return "bpf_trampoline_unlink_prog";
#if !STAPY_HAVE_BPF_TRAMPOLINE_MUTEX
	if (!STAPY_BPF_FIND(stapy_bpf_set_flags, "bpf_trampoline_set_flags"))
		return "bpf_trampoline_set_flags";
#endif
	return NULL;
}

static inline void stapy_bpf_init_link(struct bpf_tramp_link *link, struct bpf_prog *program)
{
	link->link.prog = program;
#if STAPY_HAVE_BPF_LINK_ATTACH_TYPE
	link->link.attach_type = program->expected_attach_type;
#endif
	atomic64_set(&link->link.refcnt, 1);
#if STAPY_HAVE_BPF_TRAMP_NODE
	link->node.link = &link->link;
#endif
	INIT_HLIST_NODE(&stapy_bpf_linked_of(link)->tramp_hlist);
}

/*
 * Does the kernel know the program by its addresses? Between its number and this, it would not
 * attach anything to it. It never does that of programs that were loaded without CAP_BPF.
 */
static inline bool stapy_bpf_is_loaded(const struct bpf_prog *program)
{
	return !program->jited || !list_empty(&program->aux->ksym.lnode);
}

/* Since 6.7 a program can throw, which leaves functions without returning from them. */
static inline bool stapy_bpf_may_throw(const struct bpf_prog *program)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return program->aux->exception_cb || program->aux->exception_boundary ||
	       program->aux->bpf_exception_cb;
#else
	return false;
#endif
}

/* A trampoline that keeps the count of tail calls, which its target's functions get in a register. */
static inline bool stapy_bpf_keep_tail_calls(struct bpf_trampoline *trampoline)
{
#ifdef BPF_TRAMP_F_TAIL_CALL_CTX
#if STAPY_HAVE_BPF_TRAMPOLINE_MUTEX
	mutex_lock(&trampoline->mutex);
	trampoline->flags |= BPF_TRAMP_F_TAIL_CALL_CTX;
	mutex_unlock(&trampoline->mutex);
#else
	static_call(stapy_bpf_set_flags)(trampoline, BPF_TRAMP_F_TAIL_CALL_CTX);
#endif
	return true;
#else
	return false;
#endif
}
#endif

#endif
