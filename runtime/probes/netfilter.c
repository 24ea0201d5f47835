// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netfilter.*: a hook for each row, in all network namespaces, also those that
 * come while the session runs. It is called in a softirq, or in the task that
 * sends.
 */
#include "../hit.h"

#ifdef CONFIG_NETFILTER

#include "../compat/linux/netfilter.h"

/* One namespace. */
struct armed {
	unsigned long *hooks;		/* which of those below are registered there */
};

static struct nf_hook_ops *hooks;	/* the rows' backwards, but for those of no such hook */
static unsigned int nr_hooks;
static bool registered;
static struct task_struct *starting;	/* who registers the hooks just now */
static unsigned int armed_id;

/* What nf_hook_slow() does with others is a warning, and the packet is lost for good. */
static bool usable(unsigned long verdict)
{
	switch (verdict & NF_VERDICT_MASK) {
	case NF_DROP:
	case NF_ACCEPT:
	case NF_STOLEN:
	case NF_QUEUE:
		return true;
	default:
		return false;
	}
}

static unsigned int STAPY_CALLBACK on_packet(void *priv, struct sk_buff *skb,
					     const struct nf_hook_state *state)
{
	const struct stapy_netfilter_row *row = priv;
	unsigned long words[STAPY_NF_WORDS] = {
		[STAPY_NF_HOOKNUM] = state->hook,
		[STAPY_NF_SKB] = (unsigned long)skb,
		[STAPY_NF_IN] = (unsigned long)state->in,
		[STAPY_NF_OUT] = (unsigned long)state->out,
		[STAPY_NF_VERDICT] = NF_ACCEPT,
	};
	unsigned int verdict = NF_ACCEPT;
	struct stapy_context *c;
	unsigned long flags;

	/* A task that sends shall not be interrupted by packets that come: they would be skipped. */
	local_irq_save(flags);
	c = stapy_hit_enter(NULL, &row->site, NULL, 0);
	if (c) {
		c->data = words;
		stapy_hit_run(c, row->site.probe->handler);
		c->data = NULL;
		if (likely(usable(words[STAPY_NF_VERDICT])))
			verdict = words[STAPY_NF_VERDICT];
		else
			stapy_error(c, NULL, "a hook cannot give the verdict %d",
				    (int)words[STAPY_NF_VERDICT]);
		stapy_hit_leave(c);
	}
	local_irq_restore(flags);
	return verdict;
}

static void disarm(struct net *net)
{
	struct armed *armed = net_generic(net, armed_id);
	unsigned int i;

	/* The latest first. */
	for (i = nr_hooks; armed->hooks && i--;)
		if (test_bit(i, armed->hooks))
			nf_unregister_net_hook(net, &hooks[i]);
	bitmap_free(armed->hooks);
	armed->hooks = NULL;
}

/* One that is refused is told once, whatever the number of namespaces. */
static void refuse(struct stapy_netfilter_row *row, int error)
{
	if (!row->refused)
		stapy_warn("probe %s registration error (rc %d)", row->site.point, error);
	row->refused = true;
}

/* A hook that cannot be had is a warning: neither namespaces nor the session are ours to forbid. */
static int arm(struct net *net)
{
	struct armed *armed = net_generic(net, armed_id);
	bool start = READ_ONCE(starting) == current;
	unsigned int i;

	armed->hooks = bitmap_zalloc(max(nr_hooks, 1u), GFP_KERNEL);
	for (i = 0; i < nr_hooks; i++) {
		int r;

		if (start && stapy_interrupted()) {
			disarm(net);
			return -EINTR;
		}
		r = armed->hooks ? nf_register_net_hook(net, &hooks[i]) : -ENOMEM;
		if (r)
			refuse(hooks[i].priv, r);
		else
			__set_bit(i, armed->hooks);
	}
	return 0;
}

static struct pernet_operations namespaces = {
	.init = arm,
	.exit = disarm,
	.id = &armed_id,
	.size = sizeof(struct armed),
};

static void stop(void *table, unsigned int count)
{
	if (registered)
		unregister_pernet_subsys(&namespaces);
	registered = false;
	/* Packets that were on their way when the hooks went. */
	synchronize_rcu();
	kvfree(hooks);
	hooks = NULL;
}

static int start(void *table, unsigned int count)
{
	struct stapy_netfilter_row *rows = table;
	unsigned int i;
	int r;

	hooks = stapy_alloc(count, sizeof(*hooks));
	if (!hooks)
		return -ENOMEM;
	nr_hooks = 0;
	/* Of hooks with one priority the kernel calls the latest first; we, the script's first. */
	for (i = count; i--;) {
		struct nf_hook_ops *hook = &hooks[nr_hooks];

		if (rows[i].hook >= stapy_netfilter_hooks(rows[i].pf)) {
			refuse(&rows[i], -EOPNOTSUPP);
			continue;
		}
		hook->hook = on_packet;
		hook->priv = &rows[i];
		hook->pf = rows[i].pf;
		hook->hooknum = rows[i].hook;
		hook->priority = rows[i].priority;
		nr_hooks++;
	}
	WRITE_ONCE(starting, current);
	r = register_pernet_subsys(&namespaces);
	WRITE_ONCE(starting, NULL);
	registered = !r;
	if (r)
		stop(table, count);
	return r;
}

#else

static void stop(void *table, unsigned int count)
{
}

static int start(void *table, unsigned int count)
{
	stapy_control("error", "this kernel was built without netfilter");
	return -EOPNOTSUPP;
}

#endif

const struct stapy_family stapy_netfilter = {
	.name = "netfilter",
	.start = start,
	.stop = stop,
};
