/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running BPF programs and their functions, by the trampolines that the kernel has for them. */
#ifndef STAPY_BPF_H
#define STAPY_BPF_H

enum {
	STAPY_BPF_ARGS = 5,		/* of a function; a program has one */
	STAPY_BPF_RESULT = STAPY_BPF_ARGS,	/* where c->args has what was returned */
	STAPY_BPF_WORDS
};

struct stapy_bpf_row {
	struct stapy_site site;		/* the point as it is written; hits have one of their place */
	const char *program;		/* pattern of names, or NULL when id is set */
	unsigned int id;
	unsigned int type;		/* of the kernel's enumeration; 0: any */
	const char *function;		/* pattern; NULL: the program itself */
	bool optional;			/* that no such program runs yet is no error */
	bool is_return;
	size_t slot_bytes;		/* saved entry values; the entry side is site.probe->entry */
};

extern const struct stapy_family stapy_bpf;

/* The program of this hit; NULL when it is none of such a probe. */
struct bpf_prog;
const struct bpf_prog *stapy_bpf_program(const struct stapy_context *c);
void stapy_bpf_name(char *to, size_t bytes, const struct bpf_prog *program);
void stapy_bpf_tag(char *to, size_t bytes, const struct bpf_prog *program);
void stapy_bpf_type(char *to, size_t bytes, const struct bpf_prog *program);
unsigned int stapy_bpf_id(const struct bpf_prog *program);

#endif
