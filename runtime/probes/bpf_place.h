/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place where a BPF program is probed, and its hooks. */
#ifndef STAPY_BPF_PLACE_H
#define STAPY_BPF_PLACE_H

#include "bpflink.h"

#ifdef STAPY_BPF_PROBES

/* One function of one program that one row means. */
struct stapy_bpf_place {
	struct list_head list;
	struct stapy_site site;		/* with a point of its own */
	const struct stapy_bpf_row *row;
	struct bpf_prog *target;	/* referenced */
	unsigned int function;
	unsigned long address;
	struct bpf_trampoline *trampoline;
	struct stapy_bpf_hook *entry, *exit;
	void *saved;
	size_t saved_bytes;		/* of one */
	unsigned int nr_saved;
	atomic_long_t missed;
	bool armed;			/* else it was refused, and is not tried again */
	bool unused;			/* nobody else has the program */
};

/* Both hooks, as the row needs them, and memory for values saved at entries; false without memory. */
bool stapy_bpf_make_hooks(struct stapy_bpf_place *place);

#endif

#endif
