/* The scene's servers: TCP, UDP and unix sockets of the host that a sandbox must or must not
 * reach. They run in a child process, echo what they get, answer HTTP, and write down which
 * nonce reached which listener: the host's own evidence about the network. The child ends with
 * the runner. */
#pragma once

#include "util.h"

#include <sys/types.h>

enum listener {
	LISTEN_TCP4,
	LISTEN_TCP6,
	LISTEN_MPTCP,
	LISTEN_HTTP4,
	LISTEN_HTTP6,
	LISTEN_HTTPNAME,
	LISTEN_PROXY,
	LISTEN_UDP4,
	LISTEN_UDP6,
	LISTEN_ABSTRACT,
	LISTEN_UNIX_WORK,
	LISTEN_UNIX_OUT,
	_LISTEN_MAX,
};

struct listeners {
	pid_t pid;
	int ctl; /* socketpair to the child */
	struct seen_log *log;
	int port[_LISTEN_MAX]; /* 0: the machine has no such address family */
};

struct listener_names {
	const char *abstract;
	const char *unix_work;
	const char *unix_out;
};

/* Label as roles.c uses it ("tcp4"). */
const char *listener_label(enum listener l);
int listener_find(const char *label);

/* Binds and forks. Returns 0 or -errno; then end with listeners_stop(). */
int listeners_start(struct listeners *ret, const struct listener_names *names);

/* Returns when everything that had arrived has been written down. 0 or -errno. */
int listeners_sync(const struct listeners *l);

/* Did the listener see this nonce? Call listeners_sync() first. */
bool listeners_saw(const struct listeners *l, enum listener which, const char *token);

/* Ends the child and frees. */
void listeners_stop(struct listeners *l);
