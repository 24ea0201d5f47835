// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of BPF programs: of what is probed, and of what could have been meant. */
#include "bpflink.h"

#ifdef STAPY_BPF_PROBES

#define KSYM_PREFIX (sizeof("bpf_prog_") - 1 + 2 * BPF_TAG_SIZE + 1)	/* "bpf_prog_<tag>_" */
#define COMPARED 64			/* characters of a name when looking for similar ones */
#define SUGGESTED 3
#define LISTED_BYTES 256

/* By the kernel's numbers, in the words of bpftool. */
static const char *const types[] = {
	"unspec", "socket_filter", "kprobe", "sched_cls", "sched_act", "tracepoint", "xdp",
	"perf_event", "cgroup_skb", "cgroup_sock", "lwt_in", "lwt_out", "lwt_xmit", "sock_ops",
	"sk_skb", "cgroup_device", "sk_msg", "raw_tracepoint", "cgroup_sock_addr",
	"lwt_seg6local", "lirc_mode2", "sk_reuseport", "flow_dissector", "cgroup_sysctl",
	"raw_tracepoint_writable", "cgroup_sockopt", "tracing", "struct_ops", "ext", "lsm",
	"sk_lookup", "syscall", "netfilter",
};

static const char *type_name(unsigned int type)
{
	return type < ARRAY_SIZE(types) ? types[type] : "unknown";
}

const char *stapy_bpf_name_of(const struct bpf_prog *program, unsigned int function)
{
	const struct bpf_prog *one = stapy_bpf_function(program, function);
	const char *symbol = one->aux->ksym.name;

	if (strnlen(symbol, KSYM_PREFIX + 1) > KSYM_PREFIX)
		return symbol + KSYM_PREFIX;
	return function ? "" : program->aux->name;
}

bool stapy_bpf_is_meant(const struct stapy_bpf_row *row, const struct bpf_prog *program)
{
	if (row->type && row->type != program->type)
		return false;
	if (!row->program)
		return row->id == program->aux->id;
	return glob_match(row->program, stapy_bpf_name_of(program, 0)) ||
	       glob_match(row->program, program->aux->name);
}

bool stapy_bpf_is_function_meant(const struct stapy_bpf_row *row, const struct bpf_prog *program,
				 unsigned int function)
{
	if (!row->function)
		return !function;
	return glob_match(row->function, stapy_bpf_name_of(program, function));
}

char *stapy_bpf_point(const struct stapy_bpf_row *row, const struct bpf_prog *program,
		      unsigned int function)
{
	const char *name = stapy_bpf_name_of(program, 0);
	char *which, *inside, *point = NULL;

	/* By number when that is asked for, or when it has no name. */
	which = row->program && *name ? kasprintf(GFP_KERNEL, "\"%s\"", name) :
					kasprintf(GFP_KERNEL, "%u", program->aux->id);
	inside = row->function ? kasprintf(GFP_KERNEL, ".function(\"%s\")",
					   stapy_bpf_name_of(program, function)) :
				 kstrdup("", GFP_KERNEL);
	if (which && inside)
		point = kasprintf(GFP_KERNEL, "bpf.program(%s)%s%s%s%s%s", which,
				  row->type ? ".type(\"" : "",
				  row->type ? type_name(row->type) : "",
				  row->type ? "\")" : "", inside,
				  row->is_return ? ".return" : "");
	kfree(which);
	kfree(inside);
	return point;
}

/* How many characters must be changed to make one name of the other. */
static unsigned int distance(const char *a, const char *b)
{
	u8 row[COMPARED + 1], last, old;
	unsigned int i, j, m = strnlen(a, COMPARED), n = strnlen(b, COMPARED);

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; i <= m; i++) {
		last = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			old = row[j];
			row[j] = min3(row[j - 1] + 1, row[j] + 1, last + (a[i - 1] != b[j - 1]));
			last = old;
		}
	}
	return row[n];
}

struct suggestions {
	unsigned int n, distance[SUGGESTED];
	char name[SUGGESTED][COMPARED];
};

static void suggest(struct suggestions *s, const char *wanted, const char *name)
{
	unsigned int far = distance(wanted, name), at, i;

	for (i = 0; i < s->n; i++)
		if (!strncmp(s->name[i], name, COMPARED - 1))
			return;
	if (!*name || far > max_t(unsigned int, 2, strnlen(wanted, COMPARED) / 2))
		return;
	for (at = s->n; at && s->distance[at - 1] > far; at--)
		;
	if (at == SUGGESTED)
		return;
	s->n = min_t(unsigned int, s->n + 1, SUGGESTED);
	for (i = s->n - 1; i > at; i--) {
		s->distance[i] = s->distance[i - 1];
		memcpy(s->name[i], s->name[i - 1], COMPARED);
	}
	s->distance[at] = far;
	strscpy(s->name[at], name, COMPARED);
}

/* Similar names, or else those that there are, as far as there is space. */
static void look_around(const struct stapy_bpf_row *row, struct suggestions *s, char *list)
{
	struct bpf_prog *program;
	unsigned int i;
	bool found = false;

	for (program = stapy_bpf_each(NULL); program; program = stapy_bpf_each(program)) {
		const char *name = stapy_bpf_name_of(program, 0);
		bool meant = stapy_bpf_is_meant(row, program);

		/* The program is there, and has no such function. */
		if (row->function && meant && !found) {
			found = true;
			s->n = 0;
			*list = '\0';
		}
		if (found && !meant)
			continue;
		for (i = 0; i < (found ? stapy_bpf_functions(program) : 1); i++) {
			const char *one = found ? stapy_bpf_name_of(program, i) : name;
			const char *wanted = found ? row->function : row->program;
			size_t length = strlen(list);

			if (wanted)
				suggest(s, wanted, one);
			if (*one)
				scnprintf(list + length, LISTED_BYTES - length, "%s%s",
					  length ? ", " : "", one);
		}
	}
}

void stapy_bpf_no_match(const struct stapy_bpf_row *row)
{
	struct suggestions *s = kzalloc(sizeof(*s), GFP_KERNEL);
	char *list = kzalloc(LISTED_BYTES, GFP_KERNEL);
	const char *near, *comma = ", ";

	if (s && list)
		look_around(row, s, list);
	if (s && s->n) {
		scnprintf(list, LISTED_BYTES, "%s%s%s%s%s", s->name[0], s->n > 1 ? comma : "",
			  s->n > 1 ? s->name[1] : "", s->n > 2 ? comma : "",
			  s->n > 2 ? s->name[2] : "");
		near = "; similar: ";
	} else {
		near = list && *list ? "; there are: " : "";
	}
	stapy_control("error", "probe %s registration error: no running BPF program matches%s%s",
		      row->site.point, near, list ?: "");
	kfree(list);
	kfree(s);
}

void stapy_bpf_name(char *to, size_t bytes, const struct bpf_prog *program)
{
	stapy_copy(to, stapy_bpf_name_of(program, 0), bytes);
}

void stapy_bpf_tag(char *to, size_t bytes, const struct bpf_prog *program)
{
	snprintf(to, bytes, "%*phN", BPF_TAG_SIZE, program->tag);
}

void stapy_bpf_type(char *to, size_t bytes, const struct bpf_prog *program)
{
	stapy_copy(to, type_name(program->type), bytes);
}

unsigned int stapy_bpf_id(const struct bpf_prog *program)
{
	return program->aux->id;
}

#else

/* Nothing asks, for there are no hits. */
void stapy_bpf_name(char *to, size_t bytes, const struct bpf_prog *program) { *to = '\0'; }
void stapy_bpf_tag(char *to, size_t bytes, const struct bpf_prog *program) { *to = '\0'; }
void stapy_bpf_type(char *to, size_t bytes, const struct bpf_prog *program) { *to = '\0'; }
unsigned int stapy_bpf_id(const struct bpf_prog *program) { return 0; }

#endif
