/* Threads wait in every call that a signal could interrupt, short of time and full of work in
 * between, so that their clocks run out all the time: none fails with EINTR, none comes early. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

static int interrupted[16], early[16];
static volatile int rounds[16];
BURNS(burn_between_calls)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void *calls(void *argument) {
    long which = (long)argument;
    int pair[2], none[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    if (pipe(none)) abort();
    struct timeval brief = {0, 1500};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof brief);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, ready;
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[1], &event);
    sem_t sem;
    sem_init(&sem, 0, 0);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    double end = thread_seconds() + 0.12;
    do {
        burn_between_calls(0.0009);
        struct timespec pause = {0, 1500000}, left = {0, 0}, at;
        struct timeval brief_again = {0, 1500};
        /* Before the deadline is reckoned: the thread may lose its CPU at any place. */
        double before = now();
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_nsec += 1500000;
        if (at.tv_nsec >= 1000000000) { at.tv_sec++; at.tv_nsec -= 1000000000; }
        char byte;
        fd_set set;
        FD_ZERO(&set);
        FD_SET(none[0], &set);
        int result = 0;
        errno = 0;
        switch (which) {
        case 0: result = poll(&(struct pollfd){.fd = none[0], .events = POLLIN}, 1, 2); break;
        case 1: result = select(none[0] + 1, &set, NULL, NULL, &brief_again); break;
        case 2: result = epoll_wait(epoll, &ready, 1, 2); break;
        case 3: result = nanosleep(&pause, &left); break;
        case 4: result = clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, &left); errno = result; result = -(result != 0); break;
        case 5: result = recv(pair[0], &byte, 1, 0); break;
        case 6: result = sem_timedwait(&sem, &at); break;
        case 7: pthread_mutex_lock(&mutex); errno = pthread_cond_timedwait(&cond, &mutex, &at); pthread_mutex_unlock(&mutex);
                result = -(errno != ETIMEDOUT); break;
        case 8: result = usleep(1500); break;
        case 9: result = ppoll(NULL, 0, &pause, NULL); break;
        case 10: result = pselect(0, NULL, NULL, NULL, &pause, NULL); break;
        }
        double took = now() - before;
        if (result < 0 && errno == EINTR) interrupted[which]++;
        if (took < 0.00149) early[which]++;
        rounds[which]++;
    } while (thread_seconds() < end);
    return NULL;
}

static int bell[2], answer[2];
static void *reads(void *nothing) {
    long wrong = 0;
    char byte;
    for (int i = 0; i < 100; i++) {
        burn_between_calls(0.0011);
        if (read(bell[0], &byte, 1) != 1) wrong++;
        burn_between_calls(0.0011);
        if (write(answer[1], &byte, 1) != 1) wrong++;
    }
    (void)nothing;
    return (void *)wrong;
}

int main(void) {
    pthread_t threads[16];
    for (long i = 0; i < 11; i++) pthread_create(&threads[i], NULL, calls, (void *)i);
    for (long i = 0; i < 11; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 11; i++)
        if (interrupted[i] || early[i] || !rounds[i]) printf("call %d: %d interrupted, %d early\n", i, interrupted[i], early[i]);
    if (pipe(bell) || pipe(answer)) return 1;
    pthread_create(&threads[0], NULL, reads, NULL);
    long wrong = 0;
    char byte = 1;
    for (int i = 0; i < 100; i++) {
        burn_between_calls(0.0007);
        if (write(bell[1], &byte, 1) != 1) wrong++;
        if (read(answer[0], &byte, 1) != 1) wrong++;
    }
    void *also;
    pthread_join(threads[0], &also);
    /* A child's end, waited for. */
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) { burn_between_calls(0.003); _exit(0); }
        burn_between_calls(0.0012);
        if (waitpid(child, NULL, 0) != child) wrong++;
    }
    printf("%ld wrong\n", wrong + (long)also);
}
