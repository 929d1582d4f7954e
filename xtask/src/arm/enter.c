// A program to be entered. Its threads wait in system calls, each of which must end as it does
// alone, and compute. `enter all FILE` runs until the file is there; `enter CALL` waits in one call.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static volatile int is_over;
static int odd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, end = PTHREAD_COND_INITIALIZER;
static int ends[2], event, handled;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void expect(const char *name, int is) {
    if (is) return;
    printf("odd: %s, errno %d\n", name, errno);
    __atomic_add_fetch(&odd, 1, __ATOMIC_RELAXED);
}
__attribute__((noinline)) uint64_t sum(void) {
    double x = 1, y = 2, z = 3;
    uint64_t n = 7;
    for (int i = 0; i < 20000; i++) {
        x = x * 1.0000001 + y;
        y = y * 0.9999999 + z;
        z = z * 0.5 + x;
        n = n * 6364136223846793005u + (uint64_t)i;
    }
    double all[3] = {x, y, z};
    uint64_t bits[3];
    memcpy(bits, all, sizeof bits);
    return n ^ bits[0] ^ bits[1] ^ bits[2];
}
static void *computes(void *p) {
    uint64_t first = sum();
    while (!is_over) expect("sum", sum() == first);
    return p;
}
static void *allocates(void *p) {
    for (unsigned n = 1; !is_over; n = n * 5 % 4093) {
        char *block = malloc(n + 1);
        memset(block, 1, n);
        free(block);
    }
    return p;
}
static void *calls(void *p) {
    while (!is_over) expect("getppid", getppid() > 0);
    return p;
}
static void *reads(void *p) {
    char byte = 0;
    expect("read", read(ends[0], &byte, 1) == 1 && byte == 7);
    return p;
}
static void *waits(void *p) {
    struct epoll_event got = {0}, wanted = {.events = EPOLLIN, .data.u64 = 42};
    int queue = epoll_create1(0);
    epoll_ctl(queue, EPOLL_CTL_ADD, event, &wanted);
    expect("epoll_wait", epoll_wait(queue, &got, 1, -1) == 1 && got.data.u64 == 42);
    return p;
}
static void *waits_again(void *p) {
    int queue = epoll_create1(0);
    struct epoll_event got;
    while (!is_over) {
        double began = now();
        expect("epoll_wait 20 ms", epoll_wait(queue, &got, 1, 20) == 0 && now() - began > 0.019);
    }
    return p;
}
static void *polls(void *p) {
    struct pollfd file = {.fd = event, .events = POLLIN};
    expect("poll", poll(&file, 1, -1) == 1);
    return p;
}
static void *sleeps(void *p) {
    while (!is_over) {
        struct timespec time = {0, 30000000}, rest = {0};
        double began = now();
        expect("nanosleep", nanosleep(&time, &rest) == 0 && now() - began > 0.029);
        clock_gettime(CLOCK_MONOTONIC, &time);
        time.tv_sec += 1;
        expect("sleep until", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, 0) == 0);
    }
    return p;
}
static void *waits_for_lock(void *p) {
    pthread_mutex_lock(&lock);
    while (!is_over) pthread_cond_wait(&end, &lock);
    pthread_mutex_unlock(&lock);
    return p;
}
static void *waits_for_a_while(void *p) {
    pthread_mutex_lock(&lock);
    while (!is_over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        expect("cond", pthread_cond_timedwait(&never, &lock, &until) == ETIMEDOUT);
    }
    pthread_mutex_unlock(&lock);
    return p;
}
static void handle(int signal) { handled = signal; }

static int one(const char *call) {
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, 0);
    double began = now();
    char byte = 0;
    struct epoll_event got;
    struct timespec time = {45, 0};
    int is = 0, result = 0;
    if (!strcmp(call, "sleep")) {
        // Where the profiler itself has to wait for a CPU for long, the call may return early.
        do result = nanosleep(&time, &time);
        while (result == -1 && errno == EINTR && !handled);
        double took = now() - began;
        is = result == 0 && took > 44.9 && took < 47;
    } else {
        if (!strcmp(call, "suspend")) {
            sigset_t all, none;
            sigemptyset(&none);
            sigfillset(&all);
            sigprocmask(SIG_SETMASK, &all, 0);
            result = sigsuspend(&none);
        } else if (!strcmp(call, "poll")) {
            result = poll(0, 0, -1);
        } else if (!strcmp(call, "epoll")) {
            result = epoll_wait(epoll_create1(0), &got, 1, -1);
        } else if (!strcmp(call, "read") && pipe(ends) == 0) {
            result = read(ends[0], &byte, 1);
        }
        is = result == -1 && errno == EINTR && handled == SIGUSR1;
    }
    if (!is) printf("odd: %s %d, errno %d, signal %d, %.1f s\n", call, result, errno, handled, now() - began);
    return is ? 5 : 1;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "all")) return one(arguments[1]);
    void *(*bodies[])(void *) = {computes, allocates, calls, reads, waits, waits_again, polls,
                                 sleeps, waits_for_lock, waits_for_a_while};
    enum { MANY = sizeof bodies / sizeof *bodies };
    pthread_t threads[MANY];
    if (pipe(ends)) return 1;
    event = eventfd(0, 0);
    for (int i = 0; i < MANY; i++) pthread_create(&threads[i], 0, bodies[i], 0);
    while (count > 2 && access(arguments[2], F_OK)) usleep(10000);
    is_over = 1;
    pthread_cond_broadcast(&end);
    uint64_t one_more = 1;
    char seven = 7;
    if (write(ends[1], &seven, 1) != 1 || write(event, &one_more, 8) != 8) return 1;
    for (int i = 0; i < MANY; i++) pthread_join(threads[i], 0);
    printf("%d odd\n", odd);
    return 7;
}
