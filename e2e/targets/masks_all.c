/* Every thread blocks every signal, for all of its life or half of it; nothing is ever pending,
 * and no descriptor for signals has any to read. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_masked)
BURNS(burn_open)

static int pending(void) {
    sigset_t set;
    sigpending(&set);
    int count = 0;
    for (int i = 1; i < 65; i++) count += sigismember(&set, i) == 1;
    return count;
}
static void mask(int how) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(how, &all, NULL);
}
static int from_descriptor(int fd) {
    struct signalfd_siginfo info;
    int count = 0;
    while (read(fd, &info, sizeof info) == sizeof info) count++;
    return count;
}
static void *work(void *is_open) {
    int seen = 0, fd = -1;
    for (int i = 0; i < 10; i++) {
        if (is_open) { mask(SIG_UNBLOCK); burn_open(0.01); mask(SIG_BLOCK); }
        burn_masked(0.02);
        if (fd < 0) {
            sigset_t all;
            sigfillset(&all);
            fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
        }
        seen += from_descriptor(fd) + pending();
    }
    close(fd);
    return (void *)(long)seen;
}

int main(void) {
    mask(SIG_SETMASK);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    long seen = (long)work(NULL);
    for (int i = 0; i < 2; i++) {
        void *also;
        pthread_join(threads[i], &also);
        seen += (long)also;
    }
    printf("%ld signals that nobody sent\n", seen);
}
