/* Calls about signals while the recorder does not run: how long each sleeps in them. Time on a CPU, and time that
 * the thread waits for one, does not count. The recorder's place is taken by files: "ready" says that it may be
 * stopped, "go" that it is, and "done" that it may go on. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_after_calls)
static double worst;
static const char *where = "none";
static volatile int traps;

/* How long this thread has neither run nor waited for a CPU. */
static double asleep(void) {
    struct timespec t;
    unsigned long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file && fscanf(file, "%llu %llu", &ran, &waited) != 2) abort();
    if (file) fclose(file);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9 - (ran + waited) / 1e9;
}
#define MEASURED(name, call)                                        \
    do {                                                              \
        double began = asleep();                                      \
        call;                                                         \
        double held = asleep() - began;                               \
        if (held > worst) { worst = held; where = name; }              \
    } while (0)

static void handler(int signal) { (void)signal; traps++; }
static sigset_t only(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}
static void *thread(void *nothing) {
    sigset_t urgent = only(SIGURG);
    MEASURED("a thread's mask", pthread_sigmask(SIG_BLOCK, &urgent, NULL));
    return nothing;
}
static void say(const char *name) {
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", getpid());
    fclose(file);
}
static void all_calls(void) {
    struct sigaction action = {.sa_handler = handler};
    struct timespec at_once = {0, 0};
    sigset_t urgent = only(SIGURG), stack = only(SIGSTKFLT), trap = only(SIGTRAP), all;
    siginfo_t info;
    pthread_t threads[20];
    int file, status;
    sigfillset(&all);
    MEASURED("sigfillset", sigprocmask(SIG_SETMASK, &all, NULL));
    for (int i = 0; i < 20; i++) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        pid_t child = fork();
        if (!child) {
            /* It enters itself, and asks for silence before its exec. */
            if (i) execl("/does/not/exist", "not", NULL);
            double held = asleep() - t.tv_sec - t.tv_nsec / 1e9;
            if (getenv("TELL")) fprintf(stderr, "%.4f\n", held);
            _exit(held > 0.05);
        }
        waitpid(child, &status, 0);
        if (status) { worst = 1; where = "exec"; }
    }
    sigemptyset(&all);
    MEASURED("open", sigprocmask(SIG_SETMASK, &all, NULL));
    MEASURED("sigaction", sigaction(SIGTRAP, &action, NULL));
    burn_after_calls(0.1);
    for (int i = 0; i < 5; i++) raise(SIGTRAP);
    MEASURED("SIGTRAP", sigprocmask(SIG_BLOCK, &trap, NULL));
    MEASURED("sigtimedwait", sigtimedwait(&stack, &info, &at_once));
    for (int i = 0; i < 20; i++) pthread_create(&threads[i], NULL, thread, NULL);
    MEASURED("signalfd", file = signalfd(-1, &urgent, SFD_NONBLOCK));
    MEASURED("SIGURG", sigprocmask(SIG_BLOCK, &urgent, NULL));
    for (int i = 0; i < 20; i++) pthread_join(threads[i], NULL);
    burn_after_calls(0.1);
    printf("read %d\n", (int)read(file, &info, sizeof info));
    close(file);
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
}

int main(void) {
    burn_after_calls(0.2);
    say("ready");
    while (access("go", F_OK)) usleep(1000);
    all_calls();
    printf("%d traps\n", traps);
    if (getenv("TELL")) fprintf(stderr, "at most %.4f in %s\n", worst, where);
    if (worst > 0.05) printf("held for %.0f ms in %s\n", worst * 1e3, where);
    fflush(stdout);
    say("done");
    while (access("on", F_OK)) usleep(1000);
    burn_after_calls(0.4);
    return 0;
}
