// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * register_kprobe() compares each place with all jump labels of the kernel and
 * decodes an instruction for each: about a millisecond. A place that ftrace takes
 * over needs none of that, only its address and a look into the kernel's list of
 * what must not be probed. The functions that know are not exported; a disabled
 * kprobe at each of them tells where they are, and they are only called from the
 * start of a session.
 */
#include "../internal.h"
#include "../compat/linux/kprobes.h"
#include "resolve.h"

static struct {
	unsigned long (*lookup_name)(const char *name);
	unsigned long (*ftrace_location)(unsigned long address);
	bool (*within_blacklist)(unsigned long address);
} ask;

static bool can_ask;

#if (defined(CONFIG_X86_64) || defined(CONFIG_ARM64)) && !defined(CONFIG_CFI_CLANG)

static const char *const helpers[] = {
	"kallsyms_lookup_name", "ftrace_location", "within_kprobe_blacklist",
};

/* The kernel takes the landing mark from what it calls only directly. */
static bool may_be_called(unsigned long address)
{
#if defined(CONFIG_ARM64_BTI_KERNEL)
	u32 first;

	/* "bti c", or the signing of the return address, which is a landing mark as well. */
	return !stapy_peek_kernel(&first, address, sizeof(first)) &&
	       (first == 0xd503245f || first == 0xd503233f);
#elif defined(X86_FEATURE_IBT)
	u32 first;

	if (!cpu_feature_enabled(X86_FEATURE_IBT))
		return true;
	return !stapy_peek_kernel(&first, address, sizeof(first)) && first == STAPY_ENDBR;
#else
	return true;
#endif
}

static bool find_helpers(struct kprobe *kps, unsigned long *addresses)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(helpers); i++) {
		addresses[i] = stapy_function_start((unsigned long)kps[i].addr);
		if (!may_be_called(addresses[i]))
			return false;
	}
	return true;
}

void stapy_resolve_prepare(void)
{
	struct kprobe *kps, *list[ARRAY_SIZE(helpers)];
	unsigned long addresses[ARRAY_SIZE(helpers)];
	unsigned int i;

	can_ask = false;
	kps = kcalloc(ARRAY_SIZE(helpers), sizeof(*kps), GFP_KERNEL);
	if (!kps)
		return;
	for (i = 0; i < ARRAY_SIZE(helpers); i++) {
		kps[i].symbol_name = helpers[i];
		kps[i].flags = KPROBE_FLAG_DISABLED;
		list[i] = &kps[i];
	}
	if (!register_kprobes(list, ARRAY_SIZE(helpers))) {
		can_ask = find_helpers(kps, addresses);
		unregister_kprobes(list, ARRAY_SIZE(helpers));
	}
	kfree(kps);
	if (!can_ask)
		return;
	ask.lookup_name = (void *)addresses[0];
	ask.ftrace_location = (void *)addresses[1];
	ask.within_blacklist = (void *)addresses[2];
}

#else

void stapy_resolve_prepare(void)
{
}

#endif

unsigned long stapy_resolve_entry(const char *symbol)
{
	unsigned long address, place;

	if (!can_ask)
		return 0;
	address = ask.lookup_name(symbol);
	place = address ? ask.ftrace_location(address) : 0;
	return place && !ask.within_blacklist(place) ? place : 0;
}
