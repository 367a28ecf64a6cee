/* The rows of the role table: what a name stands for. Private to roles.c and roles_more.c. */
#pragma once

#include "roles.h"

/* Words in braces are filled in by role_expand(); {new} is a name that no other operation has. */
struct role {
	const char *name;
	const char *args[ROLE_ARGS];
	const char *outside[ROLE_ARGS]; /* instead, for the control; all NULL: the same */
	const char *listener;
	bool per_agent;
};

/* A home file as target of read (hash) or append; one row for both. */
#define HOME_FILE(role, rel)                                              \
	{                                                                 \
		.name = role, .args = { "{home}/" rel, "{hash:" rel "}" } \
	}
#define NEW_IN(role, dir)                              \
	{                                              \
		.name = role, .args = { dir "/{new}" } \
	}
#define PATH(role, path)                       \
	{                                      \
		.name = role, .args = { path } \
	}
/* A file of the host's that is there byte for byte. */
#define HOST_FILE(role, path)                                         \
	{                                                             \
		.name = role, .args = { path, "{filehash:" path "}" } \
	}
#define IDENTITY(role, path)                                          \
	{                                                             \
		.name = role, .args = { path, "{identity:" path "}" } \
	}
#define NS(role, ns)                                        \
	{                                                   \
		.name = role, .args = { ns, "{ns:" ns "}" } \
	}
#define ENV(role, var)                                             \
	{                                                          \
		.name = role, .args = { var, "{envhash:" var "}" } \
	}
#define INET(role, addr, label)                                                       \
	{                                                                             \
		.name = role, .args = { addr, "{port:" label "}" }, .listener = label \
	}
#define HTTP(role, url, label)                                             \
	{                                                                  \
		.name = role, .args = { "{http}", "get", url, "{token}" }, \
		.listener = label                                          \
	}
#define OWN(role, ...)                                                   \
	{                                                                \
		.name = role, .args = { __VA_ARGS__ }, .per_agent = true \
	}

/* The second part of the table, ended by a row without a name (roles_more.c). */
extern const struct role roles_more[];
