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
	unsigned int count;		/* of the hooks below, from the first on */
};

static struct nf_hook_ops *hooks;	/* the rows' backwards */
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
	if (stapy_hit_enter(&row->site, row->site.probe, STAPY_RUNNING, &c)) {
		c->data = words;
		stapy_hit_run(c, row->site.probe->handler);
		c->data = NULL;
		if (likely(usable(words[STAPY_NF_VERDICT])))
			verdict = words[STAPY_NF_VERDICT];
		else
			stapy_error(c, NULL, "probe %s: a hook cannot give the verdict %d",
				    row->site.point, (int)words[STAPY_NF_VERDICT]);
		stapy_hit_leave(c);
	}
	local_irq_restore(flags);
	return verdict;
}

static void disarm(struct net *net)
{
	struct armed *armed = net_generic(net, armed_id);

	while (armed->count)
		nf_unregister_net_hook(net, &hooks[--armed->count]);
}

/* A namespace that cannot be watched is a warning, but for those of the start: it is not ours to forbid. */
static int arm(struct net *net)
{
	struct armed *armed = net_generic(net, armed_id);
	bool start = READ_ONCE(starting) == current;
	int r = 0;

	while (!r && armed->count < nr_hooks) {
		const struct nf_hook_ops *hook = &hooks[armed->count];
		const struct stapy_netfilter_row *row = hook->priv;

		r = start && stapy_interrupted() ? -EINTR : nf_register_net_hook(net, hook);
		if (!r)
			armed->count++;
		else if (r != -EINTR)
			stapy_control(start ? "error" : "warning",
				      "probe %s registration error (rc %d)", row->site.point, r);
	}
	if (r)
		disarm(net);
	return start ? r : 0;
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
	kfree(hooks);
	hooks = NULL;
}

static int start(void *table, unsigned int count)
{
	struct stapy_netfilter_row *rows = table;
	unsigned int i;
	int r;

	for (i = 0; i < count; i++) {
		if (rows[i].hook < stapy_netfilter_hooks(rows[i].pf))
			continue;
		stapy_control("error", "probe %s registration error (rc %d)", rows[i].site.point,
			      -EOPNOTSUPP);
		return -EOPNOTSUPP;
	}
	hooks = kcalloc(count, sizeof(*hooks), GFP_KERNEL);
	if (!hooks)
		return -ENOMEM;
	/* Of hooks with one priority the kernel calls the latest first; we, the script's first. */
	for (i = 0; i < count; i++) {
		struct nf_hook_ops *hook = &hooks[count - 1 - i];

		hook->hook = on_packet;
		hook->priv = &rows[i];
		hook->pf = rows[i].pf;
		hook->hooknum = rows[i].hook;
		hook->priority = rows[i].priority;
	}
	nr_hooks = count;
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
