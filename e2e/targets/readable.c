/* Asks the kernel whether addresses are readable, as unwinders do, with sets that lead nowhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long result) {
    printf("%s %ld %d\n", what, result, result < 0 ? errno : 0);
    fflush(stdout);
}

int main(void) {
    void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigset_t set;
    struct timespec at_once = {0, 0};
    sigemptyset(&set);
    say("unreadable", syscall(SYS_rt_sigprocmask, ~0, nowhere, NULL, 8));
    say("readable", syscall(SYS_rt_sigprocmask, ~0, &set, NULL, 8));
    say("no set", syscall(SYS_rt_sigprocmask, ~0, NULL, NULL, 8));
    say("wrong size", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 4));
    say("old", syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, nowhere, 8));
    say("wait", syscall(SYS_rt_sigtimedwait, nowhere, NULL, &at_once, 8));
    say("time", syscall(SYS_rt_sigtimedwait, &set, NULL, nowhere, 8));
    say("descriptor", syscall(SYS_signalfd4, -1, nowhere, 8, 0));
    sigaddset(&set, SIGUSR1);
    say("one set twice", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &set, 8));
    say("before", sigismember(&set, SIGUSR1));
    sigprocmask(SIG_BLOCK, NULL, &set);
    say("after", sigismember(&set, SIGUSR1));
    return 0;
}
