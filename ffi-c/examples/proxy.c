/*
 * A TCP proxy: one event loop a thread, each with its own picker.
 *
 *   proxy INSTANCES.json PLAIN_PORT GRAY_PORT [THREADS]
 *
 * The backends come from a discovery document, of Nacos say. What comes in at PLAIN_PORT goes to stable backends by weight,
 * what comes in at GRAY_PORT only to those with the tag version=gray. A connection that a backend refuses is tried at
 * another. SIGHUP reads the file again: connections that are open go on to where they are. SIGTERM ends.
 *
 * Life of a connection:
 *
 *   accept ── lease ── connect ──ok── copy both ways ── both ends shut ── lease done
 *                ^        │
 *                └─ exclude ┘ refused: lease done, failure
 *
 * A lease counts as in flight, so policies that look at load work; its address is valid until it is done.
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <pointsman.h>

enum { BUFFER = 16 * 1024, TRIES = 4, EVENTS = 256, CONNECT_MS = 3000 };

/* A tag that stable requests have and one that gray ones have; a route answers both. */
static const char ROUTE[] =
    "{\"policy\": \"weighted_random\","
    " \"tiers\": [{\"name\": \"version\", \"match\": [\"version\"]}], \"counters\": true}";

struct connection;

/* What epoll hands back: one end of a connection, or a listener. */
struct end {
    int fd; /* -1: closed, or not open yet */
    bool readable, writable, eof, shut;
    uint32_t asked;              /* the events epoll was asked for */
    struct connection *of;       /* NULL: a listener */
    const pointsman_tag *tag;    /* of a listener: what its requests are */
    size_t begin, used;          /* bytes that were read here and wait to be written to the other end */
    char *buffer;
};

struct connection {
    struct end client, backend;
    const pointsman_tag *tag;
    pointsman_lease *lease;
    char *failed[TRIES]; /* ids that were tried */
    int tries;
    bool connected, sent, answered; /* once something was sent, no other backend is tried */
    uint64_t started_ns, latency_ns;
    struct connection *next, **link; /* the loop's list of those that connect */
};

struct loop {
    int epoll, stop;
    struct end listeners[2];
    pointsman_picker *picker;
    struct connection *connecting; /* newest first */
    struct connection *ended;      /* freed when the events at hand are through */
    pthread_t thread;
};

static pointsman_pool *pool;
static pointsman_route *route;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void fail(const char *what, const pointsman_error *error)
{
    fprintf(stderr, "%s: %s%s%s\n", what, error->field, error->field[0] ? ": " : "", error->message);
}

/* ---- The list ---- */

/* Reads the file into a discovery; NULL, with a word on standard error, where it cannot be had. */
static pointsman_discovery *read_list(const char *path)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_discovery *discovery = NULL;
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t len = 0, room = 0;

    if (file == NULL) {
        perror(path);
        return NULL;
    }
    do {
        if (len == room) {
            char *larger = realloc(text, room = room ? room * 2 : 65536);
            if (larger == NULL)
                die("realloc");
            text = larger;
        }
        len += fread(text + len, 1, room - len, file);
    } while (!feof(file) && !ferror(file));
    fclose(file);

    pointsman_str document = {text, len};
    if (pointsman_discovery_parse(document, NULL, &discovery, &error) != POINTSMAN_OK)
        fail(path, &error);
    free(text);
    return discovery;
}

/* A list that cannot be read or has a bad entry leaves the one in force. */
static void reload(const char *path)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_discovery *discovery = read_list(path);
    uint64_t version;

    if (discovery == NULL)
        return;
    if (pointsman_pool_replace_discovered(pool, discovery, &version, &error) == POINTSMAN_OK)
        fprintf(stderr, "list %llu\n", (unsigned long long)version);
    else
        fail(path, &error);
    pointsman_discovery_free(discovery);
}

/* ---- Ends ---- */

static void ask(struct loop *loop, struct end *end, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = end};
    int change = events == 0 ? EPOLL_CTL_DEL : end->asked == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

    if (end->fd < 0 || end->asked == events)
        return;
    if (epoll_ctl(loop->epoll, change, end->fd, &event) != 0)
        die("epoll_ctl");
    end->asked = events;
}

static void close_end(struct end *end)
{
    if (end->fd >= 0)
        close(end->fd);
    end->fd = -1;
    end->asked = 0;
}

static void set_no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* "10.0.0.1:80" or "[::1]:80" */
static socklen_t parse_address(pointsman_str text, struct sockaddr_storage *out)
{
    char host[64];
    const char *colon = memrchr(text.data, ':', text.len);
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    if (colon == NULL || colon == text.data || (size_t)(colon - text.data) >= sizeof host)
        return 0;
    bool brackets = text.data[0] == '[' && colon[-1] == ']';
    size_t len = (size_t)(colon - text.data) - (brackets ? 2 : 0);
    unsigned port = 0;
    memcpy(host, text.data + (brackets ? 1 : 0), len);
    host[len] = 0;
    for (const char *digit = colon + 1; digit < text.data + text.len; digit++)
        port = port * 10 + (unsigned)(*digit - '0') % 10;

    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof *v4;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        return sizeof *v6;
    }
    return 0;
}

/* ---- Connections ---- */

static void unlink_connecting(struct connection *c)
{
    if (c->link == NULL)
        return;
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    c->link = NULL;
}

static void end_lease(struct connection *c, pointsman_outcome outcome)
{
    if (c->lease != NULL)
        pointsman_lease_done(c->lease, outcome, c->answered ? c->latency_ns : POINTSMAN_NO_LATENCY, NULL);
    c->lease = NULL;
}

static void end_connection(struct loop *loop, struct connection *c, pointsman_outcome outcome)
{
    if (c->client.fd < 0)
        return;
    end_lease(c, outcome);
    unlink_connecting(c);
    close_end(&c->client);
    close_end(&c->backend);
    /* Events of this round may still name it. */
    c->next = loop->ended;
    loop->ended = c;
}

/* Leases a backend and begins to connect; goes on to others while they refuse at once. False: there is none. */
static bool connect_somewhere(struct loop *loop, struct connection *c)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;

    while (c->tries < TRIES) {
        pointsman_request request = POINTSMAN_REQUEST_INIT;
        pointsman_str tried[TRIES], id, address;
        struct sockaddr_storage where;

        for (int i = 0; i < c->tries; i++)
            tried[i] = pointsman_str_of(c->failed[i]);
        request.tags = c->tag;
        request.tag_count = 1;
        request.exclude = tried;
        request.exclude_count = (size_t)c->tries;
        if (pointsman_picker_lease(loop->picker, &request, &c->lease, &error) != POINTSMAN_OK)
            return false;
        pointsman_lease_id(c->lease, &id, NULL);
        pointsman_lease_address(c->lease, &address, NULL);
        c->failed[c->tries] = strndup(id.data, id.len);
        if (c->failed[c->tries] == NULL)
            return false;
        c->tries++;

        socklen_t len = parse_address(address, &where);
        if (len != 0) {
            c->backend.fd = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            if (c->backend.fd < 0)
                return false;
            set_no_delay(c->backend.fd);
            if (connect(c->backend.fd, (struct sockaddr *)&where, len) == 0 || errno == EINPROGRESS) {
                c->started_ns = now_ns();
                c->next = loop->connecting;
                c->link = &loop->connecting;
                if (c->next != NULL)
                    c->next->link = &c->next;
                loop->connecting = c;
                ask(loop, &c->backend, EPOLLOUT);
                return true;
            }
            close_end(&c->backend);
        }
        end_lease(c, POINTSMAN_OUTCOME_FAILURE);
    }
    return false;
}

/* The backend refused or did not answer, and nothing was sent to it: another may serve. */
static void try_another(struct loop *loop, struct connection *c)
{
    end_lease(c, POINTSMAN_OUTCOME_FAILURE);
    unlink_connecting(c);
    close_end(&c->backend);
    c->backend.readable = c->backend.writable = c->backend.eof = false;
    if (!connect_somewhere(loop, c))
        end_connection(loop, c, POINTSMAN_OUTCOME_CANCELLED);
}

/* Copies what comes in at `from` to `to`, as far as it goes. Returns the end that is broken, or NULL. */
static struct end *copy(struct end *from, struct end *to, bool *copied)
{
    for (;;) {
        if (from->used == 0 && from->readable && !from->eof) {
            ssize_t got = read(from->fd, from->buffer, BUFFER);
            if (got > 0) {
                from->begin = 0;
                from->used = (size_t)got;
            } else if (got == 0) {
                from->eof = true;
            } else if (errno == EAGAIN) {
                from->readable = false;
            } else if (errno != EINTR) {
                return from;
            }
        }
        if (from->used == 0) {
            if (from->eof && !to->shut) {
                to->shut = true;
                shutdown(to->fd, SHUT_WR);
            }
            if (from->eof || !from->readable)
                return NULL;
            continue;
        }
        if (!to->writable)
            return NULL;
        ssize_t put = send(to->fd, from->buffer + from->begin, from->used, MSG_NOSIGNAL);
        if (put > 0) {
            from->begin += (size_t)put;
            from->used -= (size_t)put;
            *copied = true;
        } else if (errno == EAGAIN) {
            to->writable = false;
        } else if (errno != EINTR) {
            return to;
        }
    }
}

static void carry_on(struct loop *loop, struct connection *c)
{
    bool answered = c->answered;
    struct end *broken = copy(&c->backend, &c->client, &c->answered);

    if (broken == NULL)
        broken = copy(&c->client, &c->backend, &c->sent);
    if (c->answered && !answered)
        c->latency_ns = now_ns() - c->started_ns;
    if (broken != NULL) {
        /* A backend that breaks off is to blame; a client that does is nobody's business. */
        end_connection(loop, c, broken == &c->backend ? POINTSMAN_OUTCOME_FAILURE : POINTSMAN_OUTCOME_CANCELLED);
        return;
    }
    if (c->client.shut && c->backend.shut) {
        end_connection(loop, c, c->answered ? POINTSMAN_OUTCOME_SUCCESS : POINTSMAN_OUTCOME_CANCELLED);
        return;
    }
    ask(loop, &c->client, (c->client.used == 0 && !c->client.eof ? EPOLLIN : 0) | (c->backend.used ? EPOLLOUT : 0));
    ask(loop, &c->backend, (c->backend.used == 0 && !c->backend.eof ? EPOLLIN : 0) | (c->client.used ? EPOLLOUT : 0));
}

static void on_connected(struct loop *loop, struct connection *c)
{
    int problem = 0;
    socklen_t len = sizeof problem;

    getsockopt(c->backend.fd, SOL_SOCKET, SO_ERROR, &problem, &len);
    if (problem != 0) {
        try_another(loop, c);
        return;
    }
    unlink_connecting(c);
    c->connected = true;
    c->backend.writable = c->client.readable = c->client.writable = true;
    carry_on(loop, c);
}

static void on_event(struct loop *loop, struct end *end, uint32_t events)
{
    struct connection *c = end->of;

    if (c->client.fd < 0)
        return; /* ended in this round */
    if (!c->connected) {
        on_connected(loop, c); /* the client is not asked yet */
        return;
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        end->readable = true;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        end->writable = true;
    carry_on(loop, c);
}

static void on_listener(struct loop *loop, struct end *listener)
{
    for (;;) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct connection *c = calloc(1, sizeof *c + 2 * BUFFER);
        if (c == NULL) {
            close(fd);
            return;
        }
        set_no_delay(fd);
        c->client.fd = fd;
        c->backend.fd = -1;
        c->client.of = c->backend.of = c;
        c->client.buffer = (char *)(c + 1);
        c->backend.buffer = c->client.buffer + BUFFER;
        c->tag = listener->tag;
        if (!connect_somewhere(loop, c))
            end_connection(loop, c, POINTSMAN_OUTCOME_CANCELLED);
    }
}

static struct connection *overdue(const struct loop *loop, uint64_t now)
{
    struct connection *c = loop->connecting;

    while (c != NULL && c->started_ns + CONNECT_MS * 1000000ull >= now)
        c = c->next;
    return c;
}

/* Gives up on backends that do not answer. */
static void check_time(struct loop *loop)
{
    uint64_t now = now_ns();
    struct connection *c;

    while ((c = overdue(loop, now)) != NULL)
        try_another(loop, c);
}

static void *run(void *argument)
{
    struct loop *loop = argument;
    struct epoll_event events[EVENTS];

    for (;;) {
        int count = epoll_wait(loop->epoll, events, EVENTS, 500);
        if (count == 0)
            /* Nothing to do: hold no list meanwhile. */
            pointsman_picker_rest(loop->picker, NULL);
        for (int i = 0; i < count; i++) {
            struct end *end = events[i].data.ptr;
            if (end == NULL)
                return NULL; /* told to stop */
            if (end->of == NULL)
                on_listener(loop, end);
            else
                on_event(loop, end, events[i].events);
        }
        check_time(loop);
        while (loop->ended != NULL) {
            struct connection *c = loop->ended;
            loop->ended = c->next;
            for (int i = 0; i < c->tries; i++)
                free(c->failed[i]);
            free(c);
        }
    }
}

/* ---- Start and stop ---- */

static int listen_on(const char *port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* Each loop has a listener of its own, and the kernel spreads connections over them. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) != 0 || listen(fd, 1024) != 0)
        die(port);
    return fd;
}

static void start(struct loop *loop, char **ports, int stop)
{
    static const pointsman_tag tags[2] = {
        {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("stable")},
        {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("gray")},
    };
    pointsman_error error = POINTSMAN_ERROR_INIT;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, stop, &event) != 0)
        die("epoll");
    if (pointsman_picker_new(route, &loop->picker, &error) != POINTSMAN_OK) {
        fail("picker", &error);
        exit(1);
    }
    for (int i = 0; i < 2; i++) {
        loop->listeners[i].fd = listen_on(ports[i]);
        loop->listeners[i].tag = &tags[i];
        ask(loop, &loop->listeners[i], EPOLLIN);
    }
    if (pthread_create(&loop->thread, NULL, run, loop) != 0)
        die("pthread_create");
}

/* Waits for signals, and ticks when the pool has work. Returns on SIGTERM or SIGINT. */
static void watch(const char *path, const sigset_t *signals)
{
    int fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    struct signalfd_siginfo signal;

    if (fd < 0 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("signalfd");
    for (;;) {
        uint64_t wait_ns = 0;
        pointsman_pool_tick(pool, &wait_ns, NULL);
        /* A failure limit may be reached at any time: look in once a second. */
        epoll_wait(epoll, &event, 1, wait_ns < 1000000000u ? (int)(wait_ns / 1000000u) + 1 : 1000);
        while (read(fd, &signal, sizeof signal) == (ssize_t)sizeof signal) {
            if (signal.ssi_signo != SIGHUP) {
                close(epoll);
                close(fd);
                return;
            }
            reload(path);
        }
    }
}

int main(int count, char **arguments)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_discovery *discovery;
    sigset_t signals;

    if (count < 4) {
        fprintf(stderr, "usage: %s INSTANCES.json PLAIN_PORT GRAY_PORT [THREADS]\n", arguments[0]);
        return 2;
    }
    int threads = count > 4 ? atoi(arguments[4]) : 2;
    struct loop *loops = calloc(threads > 0 ? (size_t)threads : 1, sizeof *loops);
    int stop = eventfd(0, EFD_CLOEXEC);

    /* Before the threads, which inherit it. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    discovery = read_list(arguments[1]);
    if (loops == NULL || stop < 0 || discovery == NULL)
        return 1;
    if (pointsman_pool_new_discovered(NULL, discovery, &pool, &error) != POINTSMAN_OK
        || pointsman_route_new(pool, pointsman_str_of(ROUTE), &route, &error) != POINTSMAN_OK) {
        fail(arguments[1], &error);
        return 1;
    }
    pointsman_discovery_free(discovery);
    for (int i = 0; i < threads; i++)
        start(&loops[i], arguments + 2, stop);
    fprintf(stderr, "ready\n");
    watch(arguments[1], &signals);

    uint64_t one = 1;
    if (write(stop, &one, sizeof one) != sizeof one)
        die("eventfd");
    pointsman_string *counters = NULL;
    for (int i = 0; i < threads; i++) {
        pthread_join(loops[i].thread, NULL);
        pointsman_picker_free(loops[i].picker);
    }
    if (pointsman_route_counters(route, &counters, NULL) == POINTSMAN_OK)
        printf("%s\n", pointsman_string_data(counters));
    pointsman_string_free(counters);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
    free(loops);
    return 0;
}
