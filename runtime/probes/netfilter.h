/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netfilter.*: packets at the hooks of the network stack, in every network namespace. */
#ifndef STAPY_NETFILTER_H
#define STAPY_NETFILTER_H

/* What handlers see as $hooknum, $skb, $in, $out and $verdict: words at c->data, in this order. */
enum {
	STAPY_NF_HOOKNUM,
	STAPY_NF_SKB,
	STAPY_NF_IN,
	STAPY_NF_OUT,
	STAPY_NF_VERDICT,
	STAPY_NF_WORDS,
};

struct stapy_netfilter_row {
	struct stapy_site site;
	u8 pf;				/* NFPROTO_… */
	u8 hook;
	int priority;			/* smaller ones see a packet first */
	/* run-time state below */
	bool refused;			/* somewhere, and that was told */
};

extern const struct stapy_family stapy_netfilter;

#endif
