#include "listeners.h"
#include "t.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
	char *dir, *inside, *outside;
	struct listeners l;
};

static int make(void **state)
{
	struct world *w = sbx_xcalloc(1, sizeof(*w));
	SBX_CLEANUP_FREE char *abstract = NULL;

	w->dir = t_mkdir();
	w->inside = sbx_xasprintf("%s/in", w->dir);
	w->outside = sbx_xasprintf("%s/out", w->dir);
	abstract = sbx_xasprintf("sbx-test-%d", (int)getpid());
	*state = w;
	return listeners_start(&w->l, &(struct listener_names){ .abstract = abstract,
					      .unix_work = w->inside,
					      .unix_out = w->outside });
}

static int end(void **state)
{
	struct world *w = *state;

	listeners_stop(&w->l);
	t_rmdir(w->dir);
	free(w->inside);
	free(w->outside);
	free(w);
	return 0;
}

static void talk(const struct world *w, enum listener which, int type,
	const char *send_text, const char *want)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)w->l.port[which]),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	SBX_CLEANUP_FD int fd = socket(AF_INET, type, 0);
	char buf[512] = "";
	size_t len = 0;
	ssize_t n;

	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(send(fd, send_text, strlen(send_text), 0), strlen(send_text));
	while (strstr(buf, want) == NULL &&
		(n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0)) > 0)
		len += (size_t)n;
	assert_non_null(strstr(buf, want));
}

static void each_listener_remembers_its_own(void **state)
{
	const struct world *w = *state;

	talk(w, LISTEN_TCP4, SOCK_STREAM, "nonce.1", "nonce.1");
	talk(w, LISTEN_UDP4, SOCK_DGRAM, "nonce.2", "nonce.2");
	talk(w, LISTEN_HTTP4, SOCK_STREAM, "GET /nonce.3 HTTP/1.1\r\nHost: x\r\n\r\n",
		"nonce.3");
	talk(w, LISTEN_PROXY, SOCK_STREAM,
		"GET http://a.invalid/nonce.4 HTTP/1.1\r\n\r\n", "nonce.4");
	assert_int_equal(listeners_sync(&w->l), 0);
	assert_true(listeners_saw(&w->l, LISTEN_TCP4, "nonce.1"));
	assert_true(listeners_saw(&w->l, LISTEN_UDP4, "nonce.2"));
	assert_true(listeners_saw(&w->l, LISTEN_HTTP4, "nonce.3"));
	assert_true(listeners_saw(&w->l, LISTEN_PROXY, "nonce.4"));
	assert_false(listeners_saw(&w->l, LISTEN_TCP4, "nonce.2"));
	assert_false(listeners_saw(&w->l, LISTEN_UDP4, "nonce.1"));
	assert_false(listeners_saw(&w->l, LISTEN_TCP4, "nonce"));
}

/* What is longer than any nonce gets no answer, least of all more bytes than it has. */
static void a_long_request_is_dropped(void **state)
{
	const struct world *w = *state;
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)w->l.port[LISTEN_HTTP4]),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	SBX_CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM, 0);
	char request[960] = "GET http://x/", reply[16];

	memset(request + 13, 'A', 900);
	strcpy(request + 913, " HTTP/1.1\r\n\r\n");
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_true(send(fd, request, strlen(request), 0) > 0);
	assert_true(recv(fd, reply, sizeof(reply), 0) <= 0);
}

/* What was sent and not waited for is written down before sync returns. */
static void sync_waits_for_what_has_arrived(void **state)
{
	const struct world *w = *state;

	for (int i = 0; i < 50; i++) {
		struct sockaddr_in sin = { .sin_family = AF_INET,
			.sin_port = htons((uint16_t)w->l.port[LISTEN_UDP4]),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		SBX_CLEANUP_FREE char *token = sbx_xasprintf("burst.%d", i);
		SBX_CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM, 0);

		assert_true(sendto(fd, token, strlen(token), 0, (struct sockaddr *)&sin,
				    sizeof(sin)) > 0);
		assert_int_equal(listeners_sync(&w->l), 0);
		assert_true(listeners_saw(&w->l, LISTEN_UDP4, token));
	}
}

/* Silence for "nobody came" would be the worst answer. */
static void a_dead_server_is_noticed(void **state)
{
	struct world *w = *state;

	kill(w->l.pid, SIGKILL);
	assert_true(listeners_sync(&w->l) < 0);
}

static void labels_go_both_ways(void **state)
{
	(void)state;
	for (int i = 0; i < _LISTEN_MAX; i++)
		assert_int_equal(listener_find(listener_label((enum listener)i)), i);
	assert_int_equal(listener_find("x"), -1);
}

#define SERVED(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(each_listener_remembers_its_own),
		SERVED(a_long_request_is_dropped),
		SERVED(sync_waits_for_what_has_arrived),
		SERVED(a_dead_server_is_noticed),
		cmocka_unit_test(labels_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
