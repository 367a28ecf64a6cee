/* The manual page sbx(1), made from the table of options. */
#include "cli.h"

#include <string.h>

/* Text of roff: nothing in it is a request or an escape. */
static void print_text(const char *text)
{
	bool start = true;

	for (; *text; text++) {
		if (start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\'')
			fputs("\\(aq", stdout);
		else
			putchar(*text);
		start = *text == '\n';
	}
}

static void print_line(const char *before, const char *text)
{
	fputs(before, stdout);
	print_text(text);
	putchar('\n');
}

static void print_synopsis(const struct command_row *c)
{
	for (const char *line = c->synopsis; *line;) {
		size_t len = strcspn(line, "\n");
		SBX_CLEANUP_FREE char *one =
			sbx_xasprintf("sbx %s %.*s", c->name, (int)len, line);

		print_line("", one);
		line += len + (line[len] == '\n');
	}
}

static void print_option(const struct option_row *r)
{
	SBX_CLEANUP_FREE char *left = sbx_xasprintf(
		"--%s%s%s", r->name, r->arg ? " " : "", r->arg ? r->arg : "");

	puts(".TP");
	if (r->key < KEY_PROFILE)
		printf("\\fB\\-%c\\fR, ", r->key);
	fputs("\\fB", stdout);
	print_text(left);
	puts("\\fR");
	print_line("", r->help);
	if (r->values) {
		SBX_CLEANUP_FREE char *values = sbx_xasprintf("(one of: %s)", r->values);

		print_line("", values);
	}
}

static void print_command(const struct command_row *c)
{
	SBX_CLEANUP_FREE char *title = sbx_xasprintf("sbx %s: %s", c->name, c->summary);

	print_line(".SS ", title);
	for (size_t i = 0; i < options_n_rows; i++)
		if (options_rows[i].cmds & c->cmd)
			print_option(&options_rows[i]);
	if (c->notes) {
		puts(".PP\n.nf");
		print_line("", c->notes);
		puts(".fi");
	}
}

void manual_print(void)
{
	printf(".\\\" Made by 'sbx completion man' from the table of options.\n"
	       ".TH SBX 1 \"\" \"sbx %s\" \"User Commands\"\n"
	       ".SH NAME\n"
	       "sbx \\- run AI coding agents in a sandbox\n"
	       ".SH SYNOPSIS\n.nf\n",
		SBX_VERSION);
	for (size_t i = 0; i < options_n_commands; i++)
		if (!options_commands[i].hidden)
			print_synopsis(&options_commands[i]);
	puts(".fi\n"
	     ".SH DESCRIPTION\n"
	     "Starts an AI coding agent, or any command, under bubblewrap, so that one whose\n"
	     "permission prompts are off can damage one project directory and nothing else.\n"
	     "In the profile lenient it still holds its login and the network: what it can read it\n"
	     "can send away. For untrusted prompts there is the profile strict.\n"
	     ".SH COMMANDS");
	for (size_t i = 0; i < options_n_commands; i++)
		if (!options_commands[i].hidden)
			print_command(&options_commands[i]);
	puts(".SH EXAMPLES\n.nf\n"
	     "sbx doctor\n"
	     "sbx run claude\n"
	     "sbx run claude \\-\\- \\-p \\(aqfix the tests\\(aq\n"
	     "sbx run \\-\\-profile strict \\-\\-fs ro generic \\-\\- make \\-n\n"
	     "sbx plan \\-\\-format json codex\n"
	     "sbx session new \\-\\-name fix claude\n"
	     "sbx session resume fix\n"
	     ".fi\n"
	     ".SH FILES\n"
	     ".TP\n"
	     "$XDG_STATE_HOME/sbx/sessions.db\n"
	     "The sessions; by default below ~/.local/state. An sqlite database, private to the user.\n"
	     ".SH SEE ALSO\n"
	     "sbx\\-agents(5), sbx\\-security(7), bwrap(1); sbx\\-verify proves on this machine that the sandbox holds.");
}
