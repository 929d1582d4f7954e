/* What a program may do with signals that is rare: each of the signals that a profiler may use, and one that it does
 * not, is handled in each way, ignored, blocked, sent in each way, and handed to other programs. What is printed is
 * what the C library says. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_between)
extern char **environ;
static volatile int calls, code, is_on_stack;
static unsigned long in_handler, in_context;
static char stack[65536];
static sigjmp_buf place;

static unsigned long word(const sigset_t *set) {
    unsigned long bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}
static unsigned long mask(void) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return word(&now);
}
static void plain(int signal) { (void)signal; calls++; in_handler = mask(); }
static void full(int signal, siginfo_t *info, void *context) {
    char here;
    (void)signal;
    calls++;
    code = info->si_code;
    in_handler = mask();
    in_context = word(&((ucontext_t *)context)->uc_sigmask);
    is_on_stack = &here > stack && &here < stack + sizeof stack;
}
static void jumps(int signal) { (void)signal; calls++; siglongjmp(place, 1); }
static void shown(const char *what, int signal) {
    struct sigaction now;
    sigaction(signal, NULL, &now);
    const char *name = now.sa_handler == SIG_DFL ? "default" : now.sa_handler == SIG_IGN ? "ignored" : "a function";
    printf("%s %d: %s, flags %x, mask %lx\n", what, signal, name, now.sa_flags & ~0x04000000, word(&now.sa_mask));
}
static int with(int signal, void *handler, int flags) {
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = (void (*)(int))handler;
    sigaddset(&action.sa_mask, SIGUSR2);
    return sigaction(signal, &action, NULL);
}
static int ends(pid_t child) { int status; waitpid(child, &status, 0); return status; }
static sigset_t set_mask(int is_full) {
    sigset_t set, before;
    if (is_full) sigfillset(&set); else sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, &before);
    return before;
}
static void handled(int signal) {
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, none = {.ss_flags = SS_DISABLE};
    union sigval value = {.sival_int = 7};
    with(signal, plain, SA_RESETHAND);
    shown("once", signal);
    calls = 0; raise(signal);
    shown("after it", signal);
    with(signal, full, SA_SIGINFO | SA_NODEFER);
    raise(signal);
    printf("%d calls, code %d, masks %lx %lx %lx\n", calls, code, in_handler, in_context, mask());
    sigqueue(getpid(), signal, value);
    printf("%d calls, code %d\n", calls, code);
    with(signal, jumps, 0);
    for (int i = 0; i < 5; i++) if (!sigsetjmp(place, 1)) raise(signal);
    printf("%d calls, mask %lx\n", calls, mask());
    if (!sigsetjmp(place, 0)) raise(signal);
    printf("a jump that leaves the mask: %lx\n", mask());
    set_mask(0);
    sigaltstack(&own, NULL);
    for (int flag = 0; flag <= SA_ONSTACK; flag += SA_ONSTACK) {
        with(signal, full, SA_SIGINFO | flag);
        raise(signal);
        printf("on its stack: %d\n", is_on_stack);
    }
    sigaltstack(&none, NULL);
}
static void interrupts(int signal) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
    struct itimerspec soon = {{0, 0}, {0, 30000000}};
    sigset_t open;
    timer_t timer;
    int pipes[2];
    char byte;
    if (pipe(pipes)) return;
    sigemptyset(&open);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    with(signal, plain, 0);
    timer_settime(timer, 0, &soon, NULL);
    errno = 0;
    printf("read %d", (int)read(pipes[0], &byte, 1));
    printf(", errno %d\n", errno);
    timer_settime(timer, 0, &soon, NULL);
    errno = 0;
    printf("sigsuspend %d", sigsuspend(&open));
    printf(", errno %d, in its handler %lx\n", errno, in_handler);
    with(signal, plain, SA_RESTART);
    timer_settime(timer, 0, &soon, NULL);
    pid_t child = fork();
    if (!child) { usleep(150000); _exit(write(pipes[1], "x", 1) != 1); }
    printf("restarted read %d\n", (int)read(pipes[0], &byte, 1));
    ends(child);
    timer_delete(timer);
    close(pipes[0]);
    close(pipes[1]);
}
static void executed(int number) {
    char *arguments[] = {"odd_signals", "spawned", NULL};
    pid_t child;
    signal(number, SIG_IGN);
    shown("ignored", number);
    raise(number);
    if (!(child = fork())) _exit(execl("/proc/self/exe", "odd_signals", "forked", NULL));
    ends(child);
    if (!(child = vfork())) _exit(execl("/proc/self/exe", "odd_signals", "of vfork", NULL));
    ends(child);
    if (!(child = vfork())) {
        signal(number, SIG_DFL);
        _exit(execl("/proc/self/exe", "odd_signals", "of vfork, default", NULL));
    }
    ends(child);
    shown("after vfork", number);
    if (!posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ)) ends(child);
    signal(number, SIG_DFL);
    sigset_t before = set_mask(1);
    if (!(child = vfork())) _exit(execl("/proc/self/exe", "odd_signals", "full mask", NULL));
    ends(child);
    sigprocmask(SIG_SETMASK, &before, NULL);
    printf("mask %lx\n", mask());
    if (!(child = fork())) { raise(number); _exit(3); }
    printf("ends with %x\n", ends(child));
    if (!(child = fork())) {
        sigset_t waiting;
        set_mask(1);
        raise(number);
        sigpending(&waiting);
        printf("waits: %lx\n", word(&waiting));
        fflush(stdout);
        set_mask(0);
        _exit(3);
    }
    printf("ends late with %x\n", ends(child));
}
static void breakpoints(void) {
    for (int kind = 0; kind < 4; kind++) {
        pid_t child = fork();
        if (!child) {
            if (kind == 1) signal(SIGTRAP, SIG_IGN);
            if (kind == 2) { set_mask(1); signal(SIGTRAP, plain); }
            if (kind == 3) signal(SIGTRAP, plain);
            __asm__ volatile("int3");
            _exit(4);
        }
        printf("breakpoint %d: %x\n", kind, ends(child));
    }
}
static void everything(void) {
    struct timespec moment = {0, 50000000};
    struct signalfd_siginfo read_info = {0};
    struct epoll_event event;
    sigset_t all, open, before = set_mask(1);
    sigfillset(&all);
    sigemptyset(&open);
    int file = signalfd(-1, &all, SFD_NONBLOCK), poller = epoll_create1(0);
    burn_between(0.1);
    printf("read %d", (int)read(file, &read_info, sizeof read_info));
    kill(getpid(), SIGUSR1);
    printf(" %d", (int)read(file, &read_info, sizeof read_info));
    printf(" signal %d\n", read_info.ssi_signo);
    printf("sigtimedwait %d\n", sigtimedwait(&all, NULL, &moment));
    raise(SIGUSR2);
    printf("sigtimedwait %d\n", sigtimedwait(&all, NULL, &moment));
    printf("waits %d", epoll_pwait(poller, &event, 1, 50, &open));
    printf(" %d", pselect(0, NULL, NULL, NULL, &moment, &open));
    printf(" %d\n", ppoll(NULL, 0, &moment, &open));
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(int count, char **arguments) {
    int signals[] = {SIGTRAP, SIGURG, SIGSTKFLT, SIGUSR1};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count > 1) printf("%s, mask %lx\n", arguments[1], mask());
    for (int i = 0; i < 4; i++) {
        shown(count > 1 ? arguments[1] : "at first", signals[i]);
        if (count > 1) continue;
        handled(signals[i]);
        interrupts(signals[i]);
        executed(signals[i]);
    }
    if (count > 1) return 0;
    breakpoints();
    everything();
    burn_between(0.3);
    return 0;
}
