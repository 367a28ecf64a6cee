#include "residue_parts.h"

#include "keeper.h"
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

/* clang-format off: a table, one thing a line */
static const struct {
	const char *name, *why, *mend;
} kinds[_SBX_RESIDUE_MAX] = {
	[SBX_RESIDUE_SETID] = { "setid",
		"who executes it gets the rights of its owner or group",
		"chmod ug-s, or remove it" },
	[SBX_RESIDUE_CAPABILITY] = { "capability", "who executes it gets rights of root",
		"setcap -r, or remove it" },
	[SBX_RESIDUE_LINK_OUT] = { "link-out",
		"who writes to that name, or copies the tree, touches a file somewhere else",
		"look where it leads; remove it" },
	[SBX_RESIDUE_HARDLINK] = { "hardlink",
		"the same file has a name outside of what the agent may write to: the change "
		"arrived there too",
		"find the other name (find / -xdev -inum), look what was changed" },
	[SBX_RESIDUE_FIFO] = { "fifo",
		"a program that opens it to read waits, for ever or until somebody feeds it",
		"remove it" },
	[SBX_RESIDUE_SOCKET] = { "socket",
		"programs may look for a server there, and talk to another one later",
		"remove it" },
	[SBX_RESIDUE_DEVICE] = { "device",
		"who opens it reaches a device or, in an overlay, hides a file",
		"remove it" },
	[SBX_RESIDUE_REPOSITORY] = { "repository",
		"git, prompts and editors on the host run programs that its settings name, as soon as "
		"somebody stands in it",
		"look at its config and hooks before you enter it, or remove it" },
	[SBX_RESIDUE_GIT_SETTINGS] = { "git-settings",
		"core.fsmonitor, core.hooksPath, filters: programs that git on the host runs",
		"git config --file PATH --list shows it; put back what it was" },
	[SBX_RESIDUE_GIT_HOOK] = { "git-hook",
		"git on the host runs it at the next commit, checkout or push",
		"read it, or remove it" },
	[SBX_RESIDUE_PROTECTED] = { "protected-name",
		"an agent on the host that is started in this directory obeys what it says, or "
		"starts the programs that it names",
		"read it before you start an agent there, or remove it" },
	[SBX_RESIDUE_LOOSE] = { "came-loose",
		"something on the host replaced or removed it during the session; from then on the "
		"agent could write to that name",
		"compare it with what you wrote: git diff, or a backup" },
	[SBX_RESIDUE_UNREADABLE] = { "unreadable",
		"nobody has looked there: any of the others may be in it",
		"look yourself, or remove it" },
	[SBX_RESIDUE_CLOCK] = { "clock",
		"its times are another machine's: what is older by that clock was not named",
		"look yourself, or work in a directory on a local disk" },
};
/* clang-format on */

const char *sbx_residue_kind_name(enum sbx_residue_kind kind)
{
	return (unsigned)kind < _SBX_RESIDUE_MAX ? kinds[kind].name : "?";
}

const char *sbx_residue_kind_why(enum sbx_residue_kind kind)
{
	return (unsigned)kind < _SBX_RESIDUE_MAX ? kinds[kind].why : "?";
}

const char *sbx_residue_kind_mend(enum sbx_residue_kind kind)
{
	return (unsigned)kind < _SBX_RESIDUE_MAX ? kinds[kind].mend : "?";
}

void residue_add(struct sbx_residue *r, enum sbx_residue_kind kind, const char *path,
	const char *detail)
{
	if (r->n >= SBX_RESIDUE_ITEMS_MAX) {
		r->more++;
		return;
	}
	r->items = sbx_xrealloc(r->items, r->n + 1, sizeof(*r->items));
	r->items[r->n++] = (struct sbx_residue_item){
		.kind = kind,
		.path = sbx_xstrdup(path),
		.detail = detail ? sbx_xstrdup(detail) : NULL,
	};
}

void sbx_residue_done(struct sbx_residue *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->items[i].path);
		free(r->items[i].detail);
	}
	free(r->items);
	*r = (struct sbx_residue){ 0 };
}

void sbx_residue_mark_done(struct sbx_residue_mark *m)
{
	for (size_t i = 0; i < m->n_roots; i++) {
		free(m->roots[i].path);
		sbx_close_fd(&m->roots[i].fd);
	}
	for (size_t i = 0; i < m->n_places; i++)
		free(m->places[i].path);
	free(m->roots);
	free(m->places);
	sbx_strv_done(&m->hooks);
	*m = (struct sbx_residue_mark){ 0 };
}

/* ---- the mark ---- */

/* Opened again by way of the descriptor that is bound; a host made by hand has none. */
static int open_source(const struct sbx_op *op, const struct sbx_host *h)
{
	const struct sbx_opened *base = op->pin == SBX_PIN_BIND
						? &h->binds[op->pin_index]
						: sbx_plan_base(h, op->pin);
	const char *rel;

	if (base == NULL || base->fd < 0)
		return open(op->src, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	rel = op->src + strlen(base->real);
	rel += strspn(rel, "/");
	return *rel ? openat(base->fd, rel, O_PATH | O_NOFOLLOW | O_CLOEXEC)
		    : fcntl(base->fd, F_DUPFD_CLOEXEC, 3);
}

/* Does a root cover it already? On another mount, as a bind of its own, it is one of its own. */
static bool covered(const struct sbx_residue_mark *m, const char *path, uint64_t mnt)
{
	for (size_t i = 0; i < m->n_roots; i++) {
		struct statx st;

		if (sbx_path_is_beneath(path, m->roots[i].path) &&
			statx(m->roots[i].fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) ==
				0 &&
			st.stx_mnt_id == mnt)
			return true;
	}
	return false;
}

static enum residue_sort sort_of_root(const struct sbx_op *op, const struct sbx_host *h)
{
	SBX_CLEANUP_FREE char *admin = NULL;

	if (op->pin != SBX_PIN_GIT || h->git_admin == NULL)
		return RESIDUE_PLAIN;
	admin = sbx_path_join(h->git.real, h->git_admin);
	return strcmp(op->src, admin) == 0 ? RESIDUE_WORKTREE : RESIDUE_PLAIN;
}

static int add_root(struct sbx_residue_mark *m, const struct sbx_op *op,
	const struct sbx_host *h, struct sbx_error *e)
{
	SBX_CLEANUP_FD int fd = sbx_fd_high(open_source(op, h));
	struct statx st = { 0 };
	struct sbx_residue_root *r;

	if (fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == 0 &&
		covered(m, op->src, st.stx_mnt_id))
		return 0;
	if (fd < 0 && op->reserve == SBX_RESERVE_NONE) {
		int err = errno;

		sbx_error_set(e, SBX_E_PATH_CHANGED, err,
			"'%s' cannot be opened any more: %s", op->src, strerror(err));
		sbx_error_remedy(
			e, "it was there a moment ago: look at it, run it again");
		return -err;
	}
	m->roots = sbx_xrealloc(m->roots, m->n_roots + 1, sizeof(*m->roots));
	r = &m->roots[m->n_roots++];
	*r = (struct sbx_residue_root){ .path = sbx_xstrdup(op->src),
		.fd = fd < 0 ? -1 : SBX_TAKE_FD(fd),
		.sort = sort_of_root(op, h) };
	return 0;
}

/* Where on the host the mount point of operation at is: below the last bind that was mounted around
 * it. Owned, or NULL when it lies in none. */
static char *mount_point(const struct sbx_plan *plan, size_t at)
{
	const char *dst = plan->ops[at].dst;
	const struct sbx_op *in = NULL;

	for (size_t i = 0; i < at; i++) {
		const struct sbx_op *op = &plan->ops[i];

		if (sbx_op_is_mount(op->kind) && sbx_path_is_beneath(dst, op->dst) &&
			strcmp(dst, op->dst) != 0)
			in = op;
	}
	if (in == NULL || (in->kind != SBX_OP_BIND && in->kind != SBX_OP_RO_BIND))
		return NULL;
	return sbx_path_join(in->src, dst + strlen(in->dst));
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){ .tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec };
}

static bool look(struct sbx_residue_place *p)
{
	struct statx st;

	if (statx(AT_FDCWD, p->path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, RESIDUE_STATX,
		    &st) < 0)
		return false;
	p->there = !sbx_keeper_stands(AT_FDCWD, p->path, p->reserve, p->text);
	p->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	p->ino = st.stx_ino;
	p->ctime = time_of(&st.stx_ctime);
	if (st.stx_mask & STATX_BTIME)
		p->born = time_of(&st.stx_btime);
	return true;
}

static bool writable(const struct sbx_residue_mark *m, const char *path)
{
	for (size_t i = 0; i < m->n_roots; i++)
		if (sbx_path_is_beneath(path, m->roots[i].path))
			return true;
	return false;
}

/* Takes p.path. */
static void add_place(struct sbx_residue_mark *m, struct sbx_residue_place p)
{
	if (p.path == NULL || !writable(m, p.path)) {
		free(p.path);
		return;
	}
	look(&p);
	m->places = sbx_xrealloc(m->places, m->n_places + 1, sizeof(*m->places));
	m->places[m->n_places++] = p;
}

/* Those that the command can write to. */
static void find_hooks(struct sbx_residue_mark *m, const struct sbx_host *h)
{
	struct sbx_strv all = { 0 };

	for (size_t i = 0; i < m->n_roots; i++)
		residue_hooks_read(&all, m->roots[i].path, h);
	for (size_t i = 0; i < all.n; i++) {
		if (!writable(m, all.v[i]) || sbx_strv_contains(&m->hooks, all.v[i]))
			continue;
		sbx_strv_add(&m->hooks, all.v[i]);
		add_place(m, (struct sbx_residue_place){
				     .path = sbx_xstrdup(all.v[i]), .hooks = true });
	}
	sbx_strv_done(&all);
}

#define NSEC 1000000000LL

static long long nsec_of(const struct timespec *t)
{
	return t->tv_sec * NSEC + t->tv_nsec;
}

#define CLOCK_SAMPLES 8

/* The time of day, and that since the start of the machine just before and just after it was read:
 * of some samples the closest, since the reader may have to wait in between. */
static void read_clocks(
	struct timespec *real, struct timespec *before, struct timespec *after)
{
	long long best = -1;

	for (int i = 0; i < CLOCK_SAMPLES; i++) {
		struct timespec b, r, a;

		clock_gettime(CLOCK_BOOTTIME, &b);
		clock_gettime(CLOCK_REALTIME, &r);
		clock_gettime(CLOCK_BOOTTIME, &a);
		if (best >= 0 && nsec_of(&a) - nsec_of(&b) >= best)
			continue;
		best = nsec_of(&a) - nsec_of(&b);
		*real = r;
		if (before)
			*before = b;
		if (after)
			*after = a;
	}
}

int sbx_residue_begin(struct sbx_residue_mark *ret, const struct sbx_plan *plan,
	const struct sbx_host *h, struct sbx_error *e)
{
	struct sbx_residue_mark m = { 0 };
	int r = 0;

	clock_gettime(CLOCK_REALTIME_COARSE, &m.since);
	read_clocks(&m.real, &m.boot, NULL);
	for (size_t i = 0; r == 0 && i < plan->n; i++) {
		if (plan->ops[i].kind == SBX_OP_BIND)
			r = add_root(&m, &plan->ops[i], h, e);
		if (r == 0 && sbx_op_is_mount(plan->ops[i].kind))
			add_place(&m,
				(struct sbx_residue_place){ .path = mount_point(plan, i),
					.text = plan->ops[i].text,
					.reserve = plan->ops[i].reserve });
	}
	if (r < 0) {
		sbx_residue_mark_done(&m);
		return r;
	}
	find_hooks(&m, h);
	*ret = m;
	return 0;
}

/* ---- the end ---- */

/* What a file system may have cut a time to, by its zeros: two seconds (vfat), and powers of ten
 * from ten milliseconds (exfat) to a hundred nanoseconds (ntfs). */
static long long unit_of(const struct statx_timestamp *t)
{
	long long unit = NSEC / 100;

	if (t->tv_nsec == 0)
		return 2 * NSEC;
	while (t->tv_nsec % unit != 0)
		unit /= 10;
	return unit;
}

bool residue_since(const struct statx_timestamp *t, const struct timespec *since)
{
	return t->tv_sec * NSEC + t->tv_nsec + unit_of(t) > nsec_of(since);
}

/* The mark's time; earlier by what the clock was set back since. */
static struct timespec since_when(const struct sbx_residue_mark *m)
{
	struct timespec real, boot, since = m->since;
	long long back, ns;

	/* Before there and after here: rather too much than too little. */
	read_clocks(&real, NULL, &boot);
	back = nsec_of(&boot) - nsec_of(&m->boot) - (nsec_of(&real) - nsec_of(&m->real));
	if (back > 0) {
		ns = nsec_of(&m->since) - back;
		since = (struct timespec){ .tv_sec = ns / NSEC, .tv_nsec = ns % NSEC };
	}
	return since;
}

/* The same file? A number that is used again is told by the time of birth. */
static bool same(const struct sbx_residue_place *a, const struct sbx_residue_place *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->born.tv_sec == b->born.tv_sec &&
	       a->born.tv_nsec == b->born.tv_nsec;
}

/* The mount went with the file; or the hooks that git runs are others than they were. */
static void check_place(const struct sbx_residue_place *p, struct sbx_residue *out)
{
	struct sbx_residue_place now = {
		.path = p->path, .reserve = p->reserve, .text = p->text
	};
	bool is = look(&now);

	if (p->hooks && is && (!p->there || !same(&now, p)))
		residue_add(out, SBX_RESIDUE_GIT_HOOK, p->path,
			p->there ? "it is another directory now" : "it is new");
	else if (p->reserve != SBX_RESERVE_NONE && !p->there && is && now.there)
		residue_add(out, SBX_RESIDUE_LOOSE, p->path,
			"made where a placeholder stood");
	else if (p->there && !is && errno != ENOENT && errno != ENOTDIR)
		residue_add(out, SBX_RESIDUE_UNREADABLE, p->path, strerror(errno));
	else if (!p->hooks && p->there && !is)
		residue_add(out, SBX_RESIDUE_LOOSE, p->path, "it is gone");
	else if (!p->hooks && p->there && !same(&now, p))
		residue_add(out, SBX_RESIDUE_LOOSE, p->path, "it is another file now");
}

/* File systems whose times another machine, or a program, makes. */
static bool has_foreign_clock(int fd)
{
	static const long types[] = { NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, SMB2_SUPER_MAGIC,
		CIFS_SUPER_MAGIC, V9FS_MAGIC, FUSE_SUPER_MAGIC, CEPH_SUPER_MAGIC,
		AFS_SUPER_MAGIC, AFS_FS_MAGIC, CODA_SUPER_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(types); i++)
		if ((unsigned)fs.f_type == (unsigned)types[i])
			return true;
	return false;
}

static void collect_root(struct residue_walk *w, const struct sbx_residue_root *root)
{
	SBX_CLEANUP_FD int late = -1;

	w->root = *root;
	/* The keeper made it for the session; it is gone when nothing was put in it. */
	if (root->fd < 0)
		w->root.fd = late =
			sbx_fd_high(open(root->path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	if (w->root.fd < 0)
		return;
	if (has_foreign_clock(w->root.fd))
		residue_add(w->out, SBX_RESIDUE_CLOCK, w->root.path, NULL);
	residue_walk_root(w);
}

int sbx_residue_collect(
	struct sbx_residue *ret, const struct sbx_residue_mark *m, struct sbx_error *e)
{
	struct residue_walk *w;

	if (m->since.tv_sec == 0)
		return sbx_error_set(e, SBX_E_SYSTEM, EINVAL,
			"what a session left cannot be told: its start was not marked");
	*ret = (struct sbx_residue){ 0 };
	w = sbx_xcalloc(1, sizeof(*w));
	w->mark = m;
	w->out = ret;
	w->since = since_when(m);
	w->links = residue_links_new();
	for (size_t i = 0; i < m->n_places; i++)
		check_place(&m->places[i], ret);
	for (size_t i = 0; i < m->n_roots; i++)
		collect_root(w, &m->roots[i]);
	residue_links_end(w->links, ret);
	free(w->path);
	free(w);
	return 0;
}
