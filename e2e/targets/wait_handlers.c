/* A handler that interrupts waiting calls with a mask, blocks one signal and goes back to the mask before. Then
 * the program works. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include "burn.h"

BURNS(burn_after_waits)
static volatile int calls;

static void handler(int signal) {
    sigset_t one, before;
    (void)signal;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, &before);
    calls++;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    sigset_t alarm, open;
    sigemptyset(&open);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 3; i++) sigsuspend(&open);
    for (int i = 0; i < 3; i++) ppoll(NULL, 0, NULL, &open);
    setitimer(ITIMER_REAL, &never, NULL);
    burn_after_waits(0.5);
    printf("%d calls\n", calls);
    return 0;
}
