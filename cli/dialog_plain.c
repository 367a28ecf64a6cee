/* The New Session dialog as plain questions, for terminals that cannot show it. */
#include "cli.h"
#include "dialog.h"

#include <stdio.h>
#include <string.h>

/* Asks; *line is what was answered, without its end, or empty: what was proposed. False at the
 * end of the input. */
static bool ask(const char *question, const char *proposed, char **line, size_t *size)
{
	ssize_t n;

	printf("%s [%s]: ", question, proposed);
	fflush(stdout);
	n = getline(line, size, stdin);
	if (n < 0) {
		putchar('\n');
		return false;
	}
	if ((*line)[n - 1] == '\n')
		(*line)[n - 1] = '\0';
	return true;
}

/* One of two words, or their first letters. -1: neither. */
static int either(const char *line, const char *const words[2], int proposed)
{
	if (*line == '\0')
		return proposed;
	for (int i = 0; i < 2; i++)
		if (strcmp(line, words[i]) == 0 ||
			(line[0] == words[i][0] && line[1] == '\0' &&
				words[0][0] != words[1][0]))
			return i;
	return -1;
}

/* Until one of the two was said. False at the end of the input. */
static bool ask_either(
	const char *question, const char *const words[2], bool *first, bool *ret_end)
{
	SBX_CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	int said;

	do {
		if (!ask(question, words[*first ? 0 : 1], &line, &size)) {
			*ret_end = true;
			return false;
		}
		said = either(line, words, *first ? 0 : 1);
		if (said < 0)
			printf("  '%s' or '%s', please\n", words[0], words[1]);
	} while (said < 0);
	*first = said == 0;
	return true;
}

static bool ask_agent(struct dialog *d)
{
	SBX_CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	for (;;) {
		fputs("Agents:", stdout);
		for (size_t i = 0; i < d->n_agents; i++)
			printf(" %s%s", d->agents[i].name, d->agents[i].found ? "*" : "");
		puts("   (* found on this machine)");
		if (!ask("Agent", d->agents[d->agent].name, &line, &size))
			return false;
		if (*line == '\0')
			return true;
		for (size_t i = 0; i < d->n_agents; i++)
			if (strcmp(d->agents[i].name, line) == 0) {
				d->agent = i;
				return true;
			}
		printf("  there is no agent '%s'\n", line);
	}
}

static bool ask_text(const char *question, struct dialog_text *t)
{
	SBX_CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	if (!ask(question, t->s, &line, &size))
		return false;
	if (*line)
		dialog_text_set(t, line);
	return true;
}

static bool ask_sandbox(struct dialog *d, bool *end)
{
	static const char *const yes_no[] = { "yes", "no" };
	static const char *const fs[] = { "rw", "ro" };
	static const char *const net[] = { "on", "off" };
	bool rw = d->fs == SBX_FS_RW;

	if (d->unavailable) {
		printf("No sandbox can be had here: %s\n", d->unavailable);
		if (d->mend)
			printf("To mend it: %s\n", d->mend);
		return true;
	}
	if (!ask_either("Sandboxed (yes, no)", yes_no, &d->sandbox, end))
		return false;
	if (!d->sandbox)
		return true;
	if (!ask_either("Files read-write (rw) or read-only (ro)", fs, &rw, end))
		return false;
	d->fs = rw ? SBX_FS_RW : SBX_FS_RO;
	return ask_either("Network (on, off)", net, &d->net, end);
}

static bool ask_all(struct dialog *d, bool *end)
{
	*end = !ask_agent(d) ||
	       (dialog_is_shown(d, DIALOG_COMMAND) &&
		       !ask_text("Command", &d->command)) ||
	       !ask_text("Directory", &d->dir);
	return !*end && ask_sandbox(d, end);
}

int dialog_in_lines(struct dialog *d, const struct options *o, dialog_check *check)
{
	static const char *const yes_no[] = { "yes", "no" };
	enum dialog_field field;
	bool end = false;

	while (ask_all(d, &end)) {
		SBX_CLEANUP_FREE char *wrong = check(d, o, &field);
		bool go = d->sandbox; /* without one nothing is started by a mere Enter */

		if (wrong) {
			printf("  %s\n", wrong);
			continue;
		}
		if (!ask_either(d->sandbox ? "Start (yes, no)"
					   : "Start WITHOUT A SANDBOX (yes, no)",
			    yes_no, &go, &end))
			break;
		if (go)
			return 0;
		break;
	}
	puts("nothing was recorded");
	return EXIT_CANCELLED;
}
