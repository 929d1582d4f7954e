/* A thread waits for all signals, by every call there is, while others work: it gets those that
 * were sent, in their order, and no other. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "burn.h"

static sem_t got;
static int counts[65], timeouts, interrupted;
BURNS(burn_beside)
BURNS(burn_in_waiter)

static void *waits(void *nothing) {
    sigset_t all;
    sigfillset(&all);
    struct timespec patience = {0, 20000000}, longer = {20, 0};
    for (int i = 0;; i++) {
        int signal = 0;
        siginfo_t info;
        /* So that its own clock runs out while it waits or is about to. */
        burn_in_waiter(0.0015);
        switch (i % 3) {
        case 0: if (sigwait(&all, &signal)) interrupted++; break;
        case 1: signal = sigwaitinfo(&all, &info); break;
        case 2: signal = sigtimedwait(&all, &info, &longer); break;
        }
        if (signal < 0) { interrupted++; i--; continue; }
        counts[signal]++;
        sem_post(&got);
        if (signal == SIGTERM) break;
    }
    for (int i = 0; i < 20; i++) {
        burn_in_waiter(0.0015);
        if (sigtimedwait(&all, NULL, &patience) < 0 && errno == EAGAIN) timeouts++;
    }
    return nothing;
}
static void *works(void *nothing) {
    burn_beside(0.8);
    return nothing;
}

int main(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    sem_init(&got, 0, 0);
    pthread_t waiter, worker;
    pthread_create(&waiter, NULL, waits, NULL);
    pthread_create(&worker, NULL, works, NULL);
    int sent[] = {SIGUSR1, SIGURG, SIGUSR2, SIGHUP, SIGRTMIN, SIGALRM, SIGTRAP};
    for (int i = 0; i < 140; i++) {
        kill(getpid(), sent[i % 7]);
        while (sem_wait(&got)) {}
        burn_beside(0.002);
    }
    kill(getpid(), SIGTERM);
    pthread_join(waiter, NULL);
    pthread_join(worker, NULL);
    for (int i = 1; i < 65; i++)
        if (counts[i]) printf("%dx%d\n", i, counts[i]);
    printf("%d timeouts, %d interrupted\n", timeouts, interrupted);
}
