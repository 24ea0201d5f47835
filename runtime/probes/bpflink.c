// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaching to BPF programs: what of it the kernel does, and how it is asked to. */
#include "bpflink.h"

#ifdef STAPY_BPF_PROBES

#define OWN_IDS 0x7f000000		/* instead of types: greater than any number of a type */

DEFINE_STATIC_CALL_NULL(stapy_bpf_lookup, kallsyms_lookup_name);
DEFINE_STATIC_CALL_NULL(stapy_bpf_next, bpf_prog_get_curr_or_next);
DEFINE_STATIC_CALL_NULL(stapy_bpf_model, btf_distill_func_proto);
DEFINE_STATIC_CALL_NULL(stapy_bpf_get, bpf_trampoline_get);
DEFINE_STATIC_CALL_NULL(stapy_bpf_put, bpf_trampoline_put);
#if !STAPY_HAVE_BPF_TRAMPOLINE_MUTEX
DEFINE_STATIC_CALL_NULL(stapy_bpf_set_flags, bpf_trampoline_set_flags);
#endif
DEFINE_STATIC_CALL_NULL(stapy_bpf_link, *(stapy_bpf_link_t *)NULL);
DEFINE_STATIC_CALL_NULL(stapy_bpf_unlink, *(stapy_bpf_link_t *)NULL);

const char *stapy_bpf_prepare(void)
{
	return stapy_bpf_find();
}

struct bpf_prog *stapy_bpf_each(struct bpf_prog *last)
{
	u32 id = last ? last->aux->id + 1 : 0;
	struct bpf_prog *next = static_call(stapy_bpf_next)(&id);

	if (last)
		bpf_prog_put(last);
	return next;
}

void stapy_bpf_free_hook(struct stapy_bpf_hook *hook)
{
	if (!hook)
		return;
	free_percpu(hook->program.stats);
	kfree(hook);
}

struct stapy_bpf_hook *stapy_bpf_make_hook(void *place, enum bpf_attach_type kind,
					  stapy_bpf_code_t *code)
{
	struct stapy_bpf_hook *hook = kzalloc(sizeof(*hook), GFP_KERNEL);

	if (!hook)
		return NULL;
	/* Written when somebody has the kernel measure the time of programs. */
	hook->program.stats = alloc_percpu(struct bpf_prog_stats);
	if (!hook->program.stats) {
		kfree(hook);
		return NULL;
	}
	hook->place = place;
	hook->program.aux = &hook->aux;
	hook->aux.prog = &hook->program;
	/* Of this type the kernel does not itself refuse nested runs: our context does, and counts. */
	hook->program.type = BPF_PROG_TYPE_LSM;
	hook->program.expected_attach_type = kind;
	/* As if it was interpreted: then the code is called with the address of the instructions. */
	hook->program.bpf_func = code;
	stapy_bpf_init_link(&hook->link, &hook->program);
	return hook;
}

/* The number of a function's type, by which the kernel knows it; one of ours where it cannot know it. */
static u32 type_of(const struct bpf_prog_aux *aux, unsigned int function)
{
	unsigned int i;

	if (!aux->btf || function >= aux->func_info_cnt)
		return OWN_IDS + function;
	for (i = 0; i < function; i++)
		if (aux->func_info[i].type_id == aux->func_info[function].type_id)
			return OWN_IDS + function;
	return aux->func_info[function].type_id;
}

/*
 * The trampoline of a function, made as the kernel makes it for others, who will use the
 * same one: what it saves is told by the function's type.
 */
int stapy_bpf_trampoline(const struct bpf_prog *target, unsigned int function,
			 struct bpf_trampoline **trampoline)
{
	unsigned long address = (unsigned long)stapy_bpf_function(target, function)->bpf_func;
	const struct bpf_prog_aux *aux = target->aux;
	struct bpf_attach_target_info *info;
	const struct btf_type *type = NULL;
	u32 id = type_of(aux, function);
	int r;

	if (id < OWN_IDS && !(aux->func_info_aux && aux->func_info_aux[function].unreliable)) {
		type = btf_type_by_id(aux->btf, id);
		type = type ? btf_type_by_id(aux->btf, type->type) : NULL;
	}
	info = kzalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	r = static_call(stapy_bpf_model)(NULL, aux->btf, type, "", &info->fmodel);
	if (!r) {
		info->tgt_addr = address;
		*trampoline = static_call(stapy_bpf_get)((u64)aux->id << 32 | id, info);
		r = *trampoline ? 0 : -ENOMEM;
	}
	kfree(info);
	if (!r && (unsigned long)(*trampoline)->func.addr != address)
		r = -EBUSY;
	if (!r && aux->tail_call_reachable && !stapy_bpf_keep_tail_calls(*trampoline))
		r = -EOPNOTSUPP;
	return r;
}

void stapy_bpf_release(struct bpf_trampoline *trampoline)
{
	static_call(stapy_bpf_put)(trampoline);
}

int stapy_bpf_link_hook(struct stapy_bpf_hook *hook, struct bpf_trampoline *trampoline,
			struct bpf_prog *target)
{
	int r;

	if (!hook)
		return 0;
	r = static_call(stapy_bpf_link)(stapy_bpf_linked_of(&hook->link), trampoline, target);
	hook->linked = !r;
	return r;
}

/* Nothing new comes to our code then; what is there already has to be waited for. */
void stapy_bpf_unlink_hook(struct stapy_bpf_hook *hook, struct bpf_trampoline *trampoline,
			   struct bpf_prog *target)
{
	if (!hook || !hook->linked)
		return;
	hook->linked = false;
	WARN_ON_ONCE(static_call(stapy_bpf_unlink)(stapy_bpf_linked_of(&hook->link), trampoline,
						  target));
}

/*
 * A task that was on its way into our code, or was preempted in the trampoline, sleeps
 * of its own will only in the traced function, and is sent past our code when it comes
 * back: no program that is attached to another one may sleep.
 */
void stapy_bpf_wait(void)
{
	synchronize_rcu_tasks();
	synchronize_rcu();
}

const char *stapy_bpf_refusal(const struct bpf_prog *target, unsigned int function,
			      bool is_return)
{
	const struct bpf_prog *one = stapy_bpf_function(target, function);

	if (!target->jited)
		return "it is interpreted (net.core.bpf_jit_enable is 0), only machine code can be probed";
	if (target->aux->offload_requested)
		return "it runs in a network card";
	if (!stapy_bpf_is_loaded(target))
		return "it was loaded without CAP_BPF, the kernel keeps no symbol of it";
	if (is_return && function && stapy_bpf_may_throw(one))
		return "exceptions leave it without a return";
	return NULL;
}

const char *stapy_bpf_reason(int error)
{
	switch (error) {
	case -EBUSY:
		return "an extension program (freplace) has taken its place";
	case -E2BIG:
		return "as many programs are attached to it as the kernel allows";
	case -EOPNOTSUPP:
		return "this kernel would lose its count of tail calls";
	case -EINVAL:
		return "the kernel cannot attach to a function of its type";
	default:
		return NULL;
	}
}

#endif
