/* sbx: dispatch over a table of subcommands. */
#include "agents_user.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const struct {
	enum cmd cmd;
	int (*run)(const struct options *o);
} commands[] = {
	{ CMD_RUN, cmd_run },
	{ CMD_PLAN, cmd_plan },
	{ CMD_DOCTOR, cmd_doctor },
	{ CMD_AGENTS, cmd_agents },
	{ CMD_COMPLETION, cmd_completion },
	{ CMD_FDS, cmd_fds },
	{ CMD_SESSION, cmd_session },
	{ CMD_SESSION_NEW, cmd_session_new },
	{ CMD_SESSION_LIST, cmd_session_list },
	{ CMD_SESSION_SHOW, cmd_session_show },
	{ CMD_SESSION_RESUME, cmd_session_resume },
	{ CMD_SESSION_RM, cmd_session_rm },
};

static int print_version(void)
{
	printf("sbx %s (libsbx %s)\n", SBX_VERSION, sbx_version());
	return cli_finish_output();
}

static int print_help(const struct command_row *cmd)
{
	options_print_help(stdout, cmd);
	return cli_finish_output();
}

static int dispatch(const struct options *o, const struct command_row *cmd)
{
	struct sbx_error e = { 0 };

	if (o->help)
		return print_help(cmd);
	if (o->version)
		return print_version();
	if (!(o->cmd & (CMD_COMPLETION | CMD_FDS)) && agents_user_load(&e) < 0)
		return cli_complain(&e);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == o->cmd)
			return commands[i].run(o);
	return EXIT_OWN;
}

static int unknown_command(const char *word)
{
	struct sbx_error e = { 0 };

	sbx_error_set(&e, SBX_E_USAGE, EINVAL,
		*word == '-' ? "there is no option %s" : "there is no command '%s'",
		word);
	if (sbx_agent_find(word) && *word)
		sbx_error_remedy(&e, "did you mean 'sbx run %s'?", word);
	else
		sbx_error_remedy(&e, "see 'sbx --help'");
	return cli_complain(&e);
}

static int help(int argc, char **argv)
{
	const struct command_row *cmd;
	int used;

	if (argc == 0)
		return print_help(NULL);
	cmd = options_find(argc, argv, &used);
	return cmd ? print_help(cmd) : unknown_command(argv[0]);
}

/* A descriptor of ours on 0, 1 or 2 would become the agent's standard input or output. */
static void fill_stdio(void)
{
	for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = dup(fd))
		if (fd > 2) {
			close(fd);
			return;
		}
}

int main(int argc, char **argv)
{
	const struct command_row *cmd;
	struct sbx_error e = { 0 };
	struct options o;
	int status, used;

	fill_stdio();
	if (argc < 2) {
		options_print_help(stderr, NULL);
		return EXIT_OWN;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
		strcmp(argv[1], "help") == 0)
		return help(argc - 2, argv + 2);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	cmd = options_find(argc - 1, argv + 1, &used);
	if (cmd == NULL)
		return unknown_command(argv[1]);
	status = options_parse(&o, cmd, argc - used, argv + used, &e) < 0
			 ? cli_complain(&e)
			 : dispatch(&o, cmd);
	options_done(&o);
	return status;
}
