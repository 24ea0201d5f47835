// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The consumer compares the builds of what is loaded when a session begins. A module that
 * comes later is compared here, by the note with its build-id: the kernel keeps that among
 * the module's constants and does not tell where, but how it begins is known.
 */
#include "internal.h"
#include "build.h"
#include "compat/linux/module.h"

#define ID_BYTES 20

struct note {
	u32 name_size, size, type;
	char name[4];
	u8 id[ID_BYTES];
};

static bool is_build_id(const struct note *note)
{
	return note->name_size == 4 && note->size == ID_BYTES && note->type == 3 &&
	       !memcmp(note->name, "GNU", 4);
}

static const struct stapy_build *expected(const char *module)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_builds; i++)
		if (!strcmp(stapy_session.builds[i].module, module))
			return &stapy_session.builds[i];
	return NULL;
}

bool stapy_module_fits(const struct module *module)
{
	const struct stapy_build *build = expected(module->name);
	char id[2 * ID_BYTES + 1], found[2 * ID_BYTES + 1] = "";
	const char *at, *end;

	if (!build || strlen(build->id) != 2 * ID_BYTES)
		return true;
	stapy_module_constants(module, &at, &end);
	for (; end - at >= (long)sizeof(struct note); at += sizeof(u32)) {
		const struct note *note = (const struct note *)at;

		if (!is_build_id(note))
			continue;
		*bin2hex(id, note->id, ID_BYTES) = 0;
		if (!strcmp(id, build->id))
			return true;
		/* Other data may look like such a note: go on. */
		if (!found[0])
			memcpy(found, id, sizeof(found));
	}
	if (!found[0])
		return true;
	stapy_warn("module %s is not probed: its build-id is %s, the script was made for %s",
		   module->name, found, build->id);
	return false;
}
