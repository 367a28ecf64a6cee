/* Where an agent keeps the transcripts of one project, so that those of the others need not be
 * shown. */
#pragma once

#include "host.h"

/* The name of the project's directory in dir, the agent's directory of transcripts. Owned; NULL
 * when there is none and the agent would not find one made for it.
 *
 * SBX_BY_PATH (claude): the path in UTF-16 code units, each that is no ASCII letter or digit
 * replaced by '-'. Several paths may share a name. NULL for a path that is no UTF-8, and for one
 * of more than 200 units, whose name ends with a hash of claude's own.
 * SBX_BY_MARKER (gemini): the one whose file .project_root holds the path; NULL: none yet. */
char *sbx_transcripts_name(enum sbx_by by, const char *dir, const char *workdir);

/* SBX_BY_MARKER: names for a project that none is marked for yet. *ret_shown: what the agent will
 * choose inside, where it sees no others. The returned one is for the host, where other projects
 * may have that name, and the same at every start. Both owned. */
char *sbx_transcripts_new_name(const char *workdir, char **ret_shown);

/* Fills state, state_name and state_shown of h from a path of the agent's that is kept by project,
 * and the fact about it. Needs the work dir opened. */
void sbx_transcripts_read(struct sbx_host *h, const struct sbx_agent_path *p);
