/* A program that uses SIGURG itself, in each way there is but a handler: it blocks it and reads it from
 * a descriptor (as the processes of PostgreSQL do), waits for it, asks whether it waits. It finds the
 * signals that were sent and no other, and what it asks for is what it set. Half of its work is the kernel's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

extern char **environ;
static int taken;
BURNS(burn_user)

__attribute__((noipa)) static void burn_kernel(double s) {
    static char room[1 << 20];
    static int zeros = -1;
    if (zeros < 0) zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    double end = thread_seconds() + s;
    while (thread_seconds() < end) if (read(zeros, room, sizeof room) < 0) abort();
}
static void burn(void) { burn_user(0.006); burn_kernel(0.006); }

static sigset_t set_of(int first, int second) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, first);
    if (second) sigaddset(&set, second);
    return set;
}
static void print_set(const char *what, const sigset_t *set) {
    printf("%s:", what);
    for (int i = 1; i < 65; i++) if (sigismember(set, i) == 1) printf(" %d", i);
    printf("\n");
}
static void print_mask(const char *what) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    print_set(what, &now);
}
static void print_pending(const char *what) {
    sigset_t now;
    sigpending(&now);
    print_set(what, &now);
}

/* As PostgreSQL has it: all but a few blocked while it starts, then this one alone. */
static void by_descriptor(void) {
    sigset_t most, urgent = set_of(SIGURG, 0);
    sigfillset(&most);
    int kept[] = {SIGTRAP, SIGABRT, SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGSYS, SIGCONT};
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) sigdelset(&most, kept[i]);
    sigprocmask(SIG_SETMASK, &most, NULL);
    print_mask("most");
    burn();
    sigprocmask(SIG_SETMASK, &urgent, NULL);
    int file = signalfd(-1, &urgent, SFD_NONBLOCK | SFD_CLOEXEC), many = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(many, EPOLL_CTL_ADD, file, &event);
    int found = 0, ready = 0;
    for (int i = 0; i < 50; i++) {
        if (i == 25) { sigprocmask(SIG_SETMASK, &most, NULL); burn(); sigprocmask(SIG_SETMASK, &urgent, NULL); }
        burn();
        if (i % 10 == 9) kill(getpid(), SIGURG);
        struct pollfd one = {.fd = file, .events = POLLIN};
        if (poll(&one, 1, 0) != epoll_wait(many, &event, 1, 0)) printf("they differ\n");
        ready += one.revents == POLLIN;
        struct signalfd_siginfo info;
        while (read(file, &info, sizeof info) == sizeof info) found++;
    }
    print_mask("urgent");
    printf("read %d, ready %d\n", found, ready);
    close(file), close(many);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void by_waiting(void) {
    sigset_t both = set_of(SIGURG, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    struct timespec none = {0, 0};
    int found = 0, wrong = 0, signal;
    for (int i = 0; i < 40; i++) {
        burn();
        print_pending("waits");
        siginfo_t info;
        int got = sigtimedwait(&both, &info, &none);
        if (got >= 0) printf("got %d\n", got);
        if (i % 10) continue;
        int sent = i % 20 ? SIGTRAP : SIGURG;
        kill(getpid(), sent);
        print_pending("sent");
        burn();
        if (i % 20) { if (sigwait(&both, &signal)) signal = -1; } else signal = sigwaitinfo(&both, &info);
        found += signal == sent, wrong += signal != sent;
    }
    printf("found %d, wrong %d\n", found, wrong);
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    print_mask("open");
}

/* Calls that let it in only while they wait. */
static void by_masks(void) {
    sigset_t urgent = set_of(SIGURG, SIGUSR1), none;
    sigemptyset(&none);
    sigprocmask(SIG_BLOCK, &urgent, NULL);
    struct timespec moment = {0, 2000000};
    int many = epoll_create1(EPOLL_CLOEXEC), failed = 0;
    struct epoll_event event;
    for (int i = 0; i < 20; i++) {
        burn();
        failed += ppoll(NULL, 0, &moment, &none) < 0;
        burn();
        failed += pselect(0, NULL, NULL, NULL, &moment, &none) < 0;
        burn();
        failed += epoll_pwait(many, &event, 1, 2, &none) < 0;
    }
    printf("%d calls failed\n", failed);
    print_mask("masks");
    close(many);
    sigprocmask(SIG_UNBLOCK, &urgent, NULL);
}

static void *in_thread(void *nothing) {
    print_mask("thread");
    burn();
    print_pending("of a thread");
    return nothing;
}
static void print_in_children(const char *flags) {
    char *arguments[] = {"/proc/self/exe", (char *)flags, NULL};
    pid_t child = 0;
    fflush(stdout);
    posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ);
    waitpid(child, NULL, 0);
    if ((child = fork()) == 0) {
        print_mask("forked");
        burn();
        print_pending("of a child");
        fflush(stdout);
        execv("/proc/self/exe", arguments);
        _exit(9);
    }
    waitpid(child, NULL, 0);
    if ((child = vfork()) == 0) { execv("/proc/self/exe", arguments); _exit(9); }
    waitpid(child, NULL, 0);
}

/* What is set is what is shown: to the thread, to those that it starts, and to other programs. */
static void shown(void) {
    sigset_t sets[4], before;
    for (int i = 0; i < 4; i++) sigfillset(&sets[i]);
    sigdelset(&sets[1], SIGURG);
    sigdelset(&sets[2], SIGTRAP), sigdelset(&sets[2], SIGSEGV);
    sigdelset(&sets[3], SIGSTKFLT), sigdelset(&sets[3], SIGTERM);
    sigset_t trap = set_of(SIGTRAP, SIGURG), term = set_of(SIGTERM, SIGINT);
    for (int i = 0; i < 4; i++) {
        if (taken && i == 0) { sets[0] = set_of(SIGSTKFLT, SIGTERM); }
        pthread_sigmask(SIG_SETMASK, &sets[i], NULL);
        print_mask("set");
        burn();
        print_pending("waits");
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
        print_in_children("child");
        pthread_sigmask(SIG_UNBLOCK, &term, &before);
        print_set("before", &before);
        print_mask("less");
        pthread_sigmask(SIG_BLOCK, &trap, &before);
        print_set("before", &before);
        print_mask("more");
        syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, &before, 8);
        print_mask("less");
        sigemptyset(&before);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        print_mask("none");
    }
    struct sigaction action;
    for (int i = 1; i < 65; i++)
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("%d is handled\n", i);
}

int main(int argc, char **argv) {
    (void)argc;
    const char *how = argv[1];
    if (!strcmp(how, "child")) { print_mask("program"); burn(); print_pending("of a program"); return 0; }
    if (strstr(how, "taken")) {
        taken = 1;
        sigset_t set = set_of(SIGURG, 0);
        close(signalfd(-1, &set, 0));
    }
    if (strstr(how, "descriptor")) by_descriptor();
    if (strstr(how, "waiting")) by_waiting();
    if (strstr(how, "masks")) by_masks();
    if (strstr(how, "shown")) shown();
    fflush(stdout);
}
