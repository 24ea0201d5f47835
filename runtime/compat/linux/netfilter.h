/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets and their hooks, for the family that needs them: the headers are large. */
#ifndef STAPY_COMPAT_NETFILTER_H
#define STAPY_COMPAT_NETFILTER_H

#include <linux/netfilter.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

/*
 * How many hooks a protocol family has, 0 for one without: the kernel warns with
 * a stack when it is asked for others.
 */
static inline unsigned int stapy_netfilter_hooks(unsigned int pf)
{
	switch (pf) {
	case NFPROTO_INET:
	case NFPROTO_IPV4:
		return ARRAY_SIZE(init_net.nf.hooks_ipv4);
	case NFPROTO_IPV6:
		return ARRAY_SIZE(init_net.nf.hooks_ipv6);
#ifdef CONFIG_NETFILTER_FAMILY_ARP
	case NFPROTO_ARP:
		return ARRAY_SIZE(init_net.nf.hooks_arp);
#endif
#ifdef CONFIG_NETFILTER_FAMILY_BRIDGE
	case NFPROTO_BRIDGE:
		return ARRAY_SIZE(init_net.nf.hooks_bridge);
#endif
	default:
		return 0;
	}
}

#endif
