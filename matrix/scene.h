/* The throw-away host world of a run: files, servers, objects, environment.
 *
 *     ROOT/                     made by mkdtemp, removed at the end
 *       home/                   HOME of every cell (tree.h)
 *         projects/app/         the work dir
 *           .probes/            the probe programs: inside by way of the work dir alone
 *           .material/          what destructive acts are done to
 *         projects/other/       the sibling project
 *       host.sock               a unix socket outside all binds
 *
 * Nothing else on the host is written but IPC objects and one file in /dev/shm, all named by
 * the nonce. A guardian process removes everything when the runner is killed.
 */
#pragma once

#include "guardian.h"
#include "listeners.h"
#include "objects.h"
#include "tree.h"

struct probe_image {
	char *data;
	size_t len;
};

/* What is copied into every scene. Read before privileges are dropped. */
struct probe_images {
	struct probe_image probe;
	struct probe_image http;
};

struct scene {
	char *root;
	char nonce[24]; /* "sbx" and 16 hex digits */
	struct tree tree;
	char *probe; /* path of the probe in the work dir */
	char *probe_http;
	struct sbx_strv env; /* of the user who would start sbx: secrets included */
	struct listeners listeners;
	struct objects objects;
	struct guardian guardian;
	struct tree_print baseline; /* fingerprint before the first cell */
	unsigned serial; /* of tokens handed out */
	bool own_world; /* nothing but a name for the user's own world (here.h) */
};

/* Makes one below base (an existing directory). On failure *ret_what names the step, static
 * text, and nothing is left. */
int scene_create(struct scene *ret, const char *base, const struct probe_images *images,
	const char **ret_what);

/* A nonce for one cell or control: "sbx0123456789abcdef.17" into buf of 48 bytes. */
void scene_token(struct scene *s, char *buf);

/* After controls, and after a cell that changed more than its own: as new, and remembers the
 * fingerprint to compare the next cells with. */
int scene_reset(struct scene *s);

void scene_destroy(struct scene *s);

/* Value of a variable of the scene's user, borrowed. */
const char *scene_env(const struct scene *s, const char *name);
