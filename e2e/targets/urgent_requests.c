/* A thread asks busy threads for something by SIGURG, as Go does to preempt them: it sends the next one only when the one before has
 * arrived. One that is lost is never sent again. Says how many threads still answer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUSY 6
#define MILLISECONDS 1500

static _Thread_local int me;
static volatile int tids[BUSY], asked[BUSY], answered[BUSY], is_over;

static void answer(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    if (info->si_code == SI_TKILL) answered[me] = asked[me];
}

static void *busy(void *number) {
    volatile unsigned x = 1;
    me = (int)(long)number;
    tids[me] = (int)syscall(SYS_gettid);
    while (!is_over) x = x * 1664525 + 1013904223;
    return NULL;
}

static void rest(long microseconds) {
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

static int ask(int milliseconds) {
    int answers[BUSY], alive = 0;
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000, until.tv_nsec += milliseconds % 1000 * 1000000;
    memcpy(answers, (void *)answered, sizeof answers);
    do {
        rest(500);
        for (int i = 0; i < BUSY; i++)
            if (answered[i] == asked[i]) asked[i]++, syscall(SYS_tgkill, getpid(), tids[i], SIGURG);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
    /* A busy machine may take a while. */
    for (int tries = 0; tries < 20000; tries++) {
        alive = 0;
        for (int i = 0; i < BUSY; i++) alive += answered[i] == asked[i];
        if (alive == BUSY) break;
        rest(500);
    }
    return alive;
}

int main(void) {
    pthread_t threads[BUSY];
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_RESTART};
    char line[64];
    sigaction(SIGURG, &action, NULL);
    for (long i = 0; i < BUSY; i++) {
        pthread_create(&threads[i], NULL, busy, (void *)i);
        while (!tids[i]) rest(100);
    }
    printf("begun\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%d of %d threads answer\n", ask(MILLISECONDS), BUSY);
        fflush(stdout);
    }
    is_over = 1;
    for (int i = 0; i < BUSY; i++) pthread_join(threads[i], NULL);
    return 7;
}
