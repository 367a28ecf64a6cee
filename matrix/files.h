/* Finds and reads what sbx-verify comes with, before any privilege is given up. */
#pragma once

#include "scene.h"

struct files {
	char *table_name; /* path, for messages */
	char *table; /* text */
	char *equivalent_name;
	char *equivalent; /* text; NULL unless asked for */
	struct probe_images images;
};

/* here: the table for --here. expect and probe_dir: given by the user, or NULL for the installed ones, which lie beside
 * the program or, in a build directory, where meson puts them. Returns 0, or -1 with a
 * message in error (256 bytes). */
int files_read(struct files *ret, const char *expect, bool here, const char *probe_dir,
	char *error);
void files_done(struct files *f);

/* Reads the table of equivalent mutants too; given as above. */
int files_read_equivalent(struct files *f, const char *given, char *error);
