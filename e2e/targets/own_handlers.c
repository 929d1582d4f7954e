/* The program's own handler of the signal that its argument names is called for each signal that
 * the program sends itself in every way there is, and for nothing else; sigaction returns the
 * action that was set before. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

static volatile int calls, with_value, from_us, sent_codes, others, faults;
static int number;
static sigjmp_buf out;
BURNS(burn_between)

static void simple(int signal) { if (signal == number) calls++; else others++; }
static void rich(int signal, siginfo_t *info, void *context) {
    int saved = errno;
    if (signal != number || !context) others++;
    calls++;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == 42) with_value++;
    if (info->si_pid == getpid()) from_us++;
    if (info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE) sent_codes++;
    errno = saved;
}
static void fault(int signal) { (void)signal; faults++; siglongjmp(out, 1); }
static void *thread_work(void *nothing) { burn_between(0.1); return nothing; }

static const char *kind(struct sigaction *action) {
    if (action->sa_handler == SIG_DFL) return "default";
    if (action->sa_handler == SIG_IGN) return "ignored";
    if (action->sa_flags & SA_SIGINFO) return action->sa_sigaction == rich ? "rich" : "strange rich";
    return action->sa_handler == simple ? "simple" : action->sa_handler == fault ? "fault" : "strange";
}
static void print_action(const char *when) {
    struct sigaction now;
    memset(&now, 0xEE, sizeof now);
    sigaction(number, NULL, &now);
    printf("%s: %s, flags %x, masks SIGUSR1 %d\n", when, kind(&now), now.sa_flags & ~0x04000000,
           sigismember(&now.sa_mask, SIGUSR1));
}

int main(int argc, char **argv) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    number = atoi(argv[1]);
    print_action("at first");
    burn_between(0.1);
    struct sigaction action = {.sa_handler = simple, .sa_flags = SA_RESTART}, old;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(number, &action, &old);
    printf("was %s\n", kind(&old));
    print_action("simple");
    burn_between(0.1);
    for (int i = 0; i < 50; i++) { raise(number); kill(getpid(), number); burn_between(0.001); }
    printf("%d calls\n", calls);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = rich;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(number, &action, &old);
    printf("was %s\n", kind(&old));
    print_action("rich");
    calls = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, thread_work, NULL);
    union sigval value = {.sival_int = 42};
    for (int i = 0; i < 50; i++) {
        sigqueue(getpid(), number, value);
        pthread_kill(pthread_self(), number);
        burn_between(0.002);
    }
    pthread_join(thread, NULL);
    printf("%d calls, %d with value, %d from us, %d sent\n", calls, with_value, from_us, sent_codes);
    /* A child has the handler too, and a signal from its parent reaches it. */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        burn_between(0.02);
        calls = 0;
        raise(number);
        kill(getppid(), number);
        _exit(calls);
    }
    int before = calls, status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    printf("child %d, from it %d\n", WEXITSTATUS(status), calls - before);
    /* One call only. */
    action.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(number, &action, NULL);
    calls = 0;
    raise(number);
    print_action("once");
    printf("%d calls\n", calls);
    /* Ignored, by the old function; then by default. */
    burn_between(0.1);
    printf("signal: %d\n", signal(number, SIG_IGN) == SIG_DFL);
    for (int i = 0; i < 50; i++) raise(number);
    burn_between(0.1);
    printf("signal: %d\n", signal(number, simple) == SIG_IGN);
    print_action("by signal");
    raise(number);
    /* Blocked and pending. */
    sigset_t one, pending, before_mask;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, &before_mask);
    printf("was blocked %d\n", sigismember(&before_mask, number));
    burn_between(0.1);
    kill(getpid(), number);
    sigpending(&pending);
    printf("pending %d\n", sigismember(&pending, number));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    printf("%d calls\n", calls);
    if (number == SIGPROF) {
        struct itimerval timer = {{0, 4000}, {0, 4000}}, off = {{0, 0}, {0, 0}};
        calls = 0;
        setitimer(ITIMER_PROF, &timer, NULL);
        burn_between(0.4);
        setitimer(ITIMER_PROF, &off, NULL);
        printf("%s\n", calls > 20 && calls < 150 ? "ticks" : "wrong ticks");
    }
    if (number == SIGSEGV || number == SIGTRAP) {
        signal(number, fault);
        for (volatile int i = 0; i < 200; i++) {
            if (sigsetjmp(out, 1) == 0) {
                if (number == SIGSEGV) *(volatile int *)16 = 1;
                else __asm__ volatile("int3");
            }
            spin(200000, 1);
        }
        printf("%d faults\n", faults);
    }
    printf("%d others\n", others);
    /* And it dies of it, or not, as it would. */
    fflush(stdout);
    signal(number, SIG_DFL);
    burn_between(0.05);
    raise(number);
    puts("alive");
}
