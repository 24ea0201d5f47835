/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What BPF programs and their functions are called, and which of them a row means. */
#ifndef STAPY_BPFNAMES_H
#define STAPY_BPFNAMES_H

#include "../internal.h"
#include "../compat/linux/bpf.h"

#ifdef STAPY_BPF_PROBES

/* How many functions a program consists of, itself the first; and one of them. */
static inline unsigned int stapy_bpf_functions(const struct bpf_prog *program)
{
	return max(program->aux->func_cnt, 1U);
}

static inline const struct bpf_prog *stapy_bpf_function(const struct bpf_prog *program,
							unsigned int number)
{
	return number ? program->aux->func[number] : program;
}

/* The whole name where there is BTF, else the 15 characters that the kernel keeps; never NULL. */
const char *stapy_bpf_name_of(const struct bpf_prog *program, unsigned int function);
bool stapy_bpf_is_meant(const struct stapy_bpf_row *row, const struct bpf_prog *program);
bool stapy_bpf_is_function_meant(const struct stapy_bpf_row *row, const struct bpf_prog *program,
				 unsigned int function);
/* The point that pp() tells: with the names of what is probed. To be freed; NULL without memory. */
char *stapy_bpf_point(const struct stapy_bpf_row *row, const struct bpf_prog *program,
		      unsigned int function);

/* Tell that nothing that runs is what a row means, with names that are like its own. May sleep. */
void stapy_bpf_no_match(const struct stapy_bpf_row *row);

#endif

#endif
