/* sbx completion: scripts for the shells, and what else is made from the table of options. */
#include "cli.h"

#include <errno.h>
#include <string.h>

/* What bash's compgen and zsh's _arguments call a kind of word. */
static const struct {
	const char *bash;
	const char *zsh;
	const char *fish;
} kinds[] = {
	[ARG_NONE] = { "", "", "" },
	[ARG_WORD] = { "", " ", "-x" },
	[ARG_VALUES] = { "", "", "-x" },
	[ARG_DIR] = { "-d", "_files -/", "-x -a '(__fish_complete_directories)'" },
	[ARG_PATH] = { "-f", "_files", "-r" },
	[ARG_USER] = { "-u", "_users", "-x -a '(__fish_complete_users)'" },
	[ARG_VARIABLE] = { "-v", "_parameters", "-x -a '(set --names)'" },
};

static void print_agents(const char *before)
{
	size_t n;
	const struct sbx_agent *agents = sbx_agents(&n);

	for (size_t i = 0; i < n; i++)
		printf("%s%s", i ? " " : before, agents[i].name);
}

/* The second word of "session new", or NULL. */
static const char *second(const struct command_row *c)
{
	const char *space = strchr(c->name, ' ');

	return space ? space + 1 : NULL;
}

/* The first words; or, below a command, the second ones. */
static void print_commands(const struct command_row *above)
{
	const char *between = "";

	for (size_t i = 0; i < options_n_commands; i++) {
		const struct command_row *c = &options_commands[i];

		if (c->hidden ||
			(above ? !options_is_below(c, above) : second(c) != NULL))
			continue;
		printf("%s%s", between, above ? second(c) : c->name);
		between = " ";
	}
}

static bool has_below(const struct command_row *c)
{
	for (size_t i = 0; i < options_n_commands; i++)
		if (options_is_below(&options_commands[i], c))
			return true;
	return false;
}

/* Text between single quotes, for zsh and fish; colons and brackets are zsh's. */
static void print_text(const char *text, const char *escape)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr(escape, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

/* ---- bash ---- */

static void bash_values(const struct command_row *c)
{
	for (size_t i = 0; i < options_n_rows; i++) {
		const struct option_row *r = &options_rows[i];

		if (!(r->cmds & c->cmd) || r->kind == ARG_NONE)
			continue;
		printf("\t'%s:--%s')\n\t\t", c->name, r->name);
		if (r->kind == ARG_VALUES)
			printf("COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", r->values);
		else if (*kinds[r->kind].bash)
			printf("COMPREPLY=($(compgen %s -- \"$cur\"))\n",
				kinds[r->kind].bash);
		else
			puts("COMPREPLY=()");
		puts("\t\treturn ;;");
	}
}

static void bash_words(const struct command_row *c)
{
	printf("\t'%s') words='", c->name);
	for (size_t i = 0; i < options_n_rows; i++)
		if (options_rows[i].cmds & c->cmd)
			printf("--%s ", options_rows[i].name);
	fputs("'", stdout);
	if (c->takes_agent)
		print_agents("; agents='");
	puts(c->takes_agent ? "' ;;" : " ;;");
}

static void bash_below(const struct command_row *c)
{
	printf("\tif [ \"$cmd\" = %s ]; then\n"
	       "\t\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
	       "\t\t\tCOMPREPLY=($(compgen -W '--help ",
		c->name);
	print_commands(c);
	puts("' -- \"$cur\"))\n"
	     "\t\t\treturn\n"
	     "\t\tfi\n"
	     "\t\tcmd=\"$cmd ${COMP_WORDS[2]}\"\n"
	     "\tfi");
}

static void bash(void)
{
	fputs("# bash completion for sbx, made from its table of options\n"
	      "_sbx() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal cmd=${COMP_WORDS[1]} words= agents= i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '--help --version ",
		stdout);
	print_commands(NULL);
	fputs("' -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\tfi\n",
		stdout);
	for (size_t i = 0; i < options_n_commands; i++)
		if (has_below(&options_commands[i]))
			bash_below(&options_commands[i]);
	fputs("\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
	      "\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\tcase \"$cmd:$prev\" in\n",
		stdout);
	for (size_t i = 0; i < options_n_commands; i++)
		bash_values(&options_commands[i]);
	puts("\tesac\n\tcase \"$cmd\" in");
	for (size_t i = 0; i < options_n_commands; i++)
		if (!options_commands[i].hidden)
			bash_words(&options_commands[i]);
	puts("\tesac\n"
	     "\tcase $cur in\n"
	     "\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
	     "\t*) COMPREPLY=($(compgen -W \"$agents\" -- \"$cur\")) ;;\n"
	     "\tesac\n"
	     "}\n"
	     "complete -F _sbx sbx");
}

/* ---- zsh ---- */

static void zsh_command(const struct command_row *c)
{
	printf("\t'%s')\n\t\t_arguments -S", c->name);
	for (size_t i = 0; i < options_n_rows; i++) {
		const struct option_row *r = &options_rows[i];
		bool repeat = r->key == KEY_BIND || r->key == KEY_RO_BIND ||
			      r->key == KEY_ENV || r->key == KEY_ALLOW;

		if (!(r->cmds & c->cmd))
			continue;
		printf(" \\\n\t\t\t'%s--%s%s[", repeat ? "*" : "", r->name,
			r->kind == ARG_NONE ? "" : "=");
		print_text(r->help, "[]:");
		putchar(']');
		if (r->kind == ARG_VALUES)
			printf(":%s:(%s)", r->arg, r->values);
		else if (r->kind != ARG_NONE)
			printf(":%s:%s", r->arg, kinds[r->kind].zsh);
		putchar('\'');
	}
	if (c->takes_agent) {
		print_agents(" \\\n\t\t\t'1:agent:(");
		fputs(")' '*:: :_normal'", stdout);
	}
	puts(" ;;");
}

static void zsh_commands(const struct command_row *above)
{
	puts("\t\tlocal -a commands=(");
	for (size_t i = 0; i < options_n_commands; i++) {
		const struct command_row *c = &options_commands[i];

		if (c->hidden ||
			(above ? !options_is_below(c, above) : second(c) != NULL))
			continue;
		printf("\t\t\t'%s:", above ? second(c) : c->name);
		print_text(c->summary, ":");
		puts("'");
	}
	puts("\t\t)\n"
	     "\t\t_describe command commands\n"
	     "\t\treturn");
}

static void zsh(void)
{
	puts("#compdef sbx\n"
	     "# zsh completion for sbx, made from its table of options\n"
	     "_sbx() {\n"
	     "\tif (( CURRENT == 2 )); then");
	zsh_commands(NULL);
	puts("\tfi\n"
	     "\tlocal cmd=$words[2]\n"
	     "\tshift words\n"
	     "\t(( CURRENT-- ))");
	for (size_t i = 0; i < options_n_commands; i++)
		if (has_below(&options_commands[i])) {
			printf("\tif [[ $cmd == %s ]]; then\n"
			       "\t\tif (( CURRENT == 2 )); then\n",
				options_commands[i].name);
			zsh_commands(&options_commands[i]);
			puts("\t\tfi\n"
			     "\t\tcmd=\"$cmd $words[2]\"\n"
			     "\t\tshift words\n"
			     "\t\t(( CURRENT-- ))\n"
			     "\tfi");
		}
	puts("\tcase $cmd in");
	for (size_t i = 0; i < options_n_commands; i++)
		if (!options_commands[i].hidden)
			zsh_command(&options_commands[i]);
	puts("\tesac\n}\n_sbx \"$@\"");
}

/* ---- fish ---- */

/* When the words so far are those of the command: "session new" are two. */
static void fish_when(const struct command_row *c)
{
	int len = (int)strcspn(c->name, " ");

	printf("complete -c sbx -n '__fish_seen_subcommand_from %.*s", len, c->name);
	if (second(c))
		printf("; and __fish_seen_subcommand_from %s", second(c));
	putchar('\'');
}

static void fish_name(const struct command_row *c)
{
	int len = (int)strcspn(c->name, " ");

	if (second(c)) {
		printf("complete -c sbx -n '__fish_seen_subcommand_from %.*s; and not "
		       "__fish_seen_subcommand_from ",
			len, c->name);
		for (size_t i = 0; i < options_n_commands; i++)
			if (strncmp(options_commands[i].name, c->name, (size_t)len + 1) ==
				0)
				printf("%s ", second(&options_commands[i]));
		printf("' -f -a %s -d '", second(c));
	} else {
		printf("complete -c sbx -n __fish_use_subcommand -f -a %s -d '", c->name);
	}
	print_text(c->summary, "");
	puts("'");
}

static void fish_command(const struct command_row *c)
{
	fish_name(c);
	for (size_t i = 0; i < options_n_rows && !has_below(c); i++) {
		const struct option_row *r = &options_rows[i];

		if (!(r->cmds & c->cmd))
			continue;
		fish_when(c);
		printf(" -l %s", r->name);
		if (r->key < KEY_PROFILE)
			printf(" -s %c", r->key);
		if (r->kind == ARG_VALUES)
			printf(" -x -a '%s'", r->values);
		else if (r->kind != ARG_NONE)
			printf(" %s", kinds[r->kind].fish);
		fputs(" -d '", stdout);
		print_text(r->help, "");
		puts("'");
	}
	if (c->takes_agent) {
		fish_when(c);
		fputs(" -f", stdout);
		print_agents(" -a '");
		puts("'");
	}
}

static void fish(void)
{
	puts("# fish completion for sbx, made from its table of options");
	for (size_t i = 0; i < options_n_commands; i++)
		if (!options_commands[i].hidden)
			fish_command(&options_commands[i]);
}

/* ---- data: for checks, one option of one subcommand a line, tabs between ---- */

static void data(void)
{
	for (size_t i = 0; i < options_n_commands; i++)
		for (size_t k = 0; k < options_n_rows; k++)
			if (!options_commands[i].hidden &&
				(options_rows[k].cmds & options_commands[i].cmd))
				printf("%s\t--%s\t%s\t%s\t%s\n", options_commands[i].name,
					options_rows[k].name,
					options_rows[k].arg ? options_rows[k].arg : "",
					options_rows[k].values ? options_rows[k].values
							       : "",
					options_rows[k].help);
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish }, { "data", data },
	{ "man", manual_print } };

int cmd_completion(const struct options *o)
{
	const char *name = o->n_words == 1 ? o->words[0] : "";
	struct sbx_error e = { 0 };

	for (size_t i = 0; i < SBX_ARRAY_SIZE(shells); i++)
		if (strcmp(shells[i].name, name) == 0) {
			shells[i].print();
			return cli_finish_output();
		}
	sbx_error_set(&e, SBX_E_USAGE, EINVAL,
		"completion: '%s' is not bash, zsh or fish", name);
	return cli_complain(&e);
}
