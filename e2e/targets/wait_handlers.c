/* A handler that interrupts waiting calls with a mask: it looks at its mask, blocks one signal and goes back to
 * the mask before, and starts a thread and another program, which print theirs. Then the program works. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_after_waits)
static volatile int calls;
static unsigned long in_handlers, in_threads;

static unsigned long mask_now(void) {
    sigset_t now;
    unsigned long word;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    memcpy(&word, &now, sizeof word);
    return word;
}
static void *thread(void *nothing) {
    in_threads |= mask_now();
    return nothing;
}
/* The masks, as the kernel reports them. */
static int print_status(void) {
    char line[200];
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6)) printf("inherited %s", line);
    return 0;
}
static void handler(int signal) {
    sigset_t one, before;
    pthread_t other;
    pid_t child;
    (void)signal;
    in_handlers |= mask_now();
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, &before);
    calls++;
    sigprocmask(SIG_SETMASK, &before, NULL);
    in_handlers |= mask_now();
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    if (!(child = fork())) {
        execl("/proc/self/exe", "wait_handlers", "print", NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

int main(int count, char **arguments) {
    struct sigaction action = {.sa_handler = handler};
    struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    sigset_t alarm, open;
    if (count > 1 && arguments[1]) return print_status();
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
    printf("%d calls, %lx in handlers, %lx in threads\n", calls, in_handlers, in_threads);
    return 0;
}
