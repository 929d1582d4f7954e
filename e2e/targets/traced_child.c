/* A child works, lets its parent trace it, works on, and stops itself a few times. The parent sees
 * it stop for what it did; SIGURG is not counted, since it means nothing by default. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_untraced)
BURNS(burn_traced)

static void trace(int by_number) {
    int stops[65] = {0}, status;
    pid_t child = fork();
    if (child == 0) {
        burn_untraced(0.1);
        if (by_number) syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
        else ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        burn_traced(0.2);
        for (int i = 0; i < 3; i++) { raise(SIGUSR1); burn_traced(0.02); }
        __asm__ volatile("int3");
        burn_traced(0.02);
        _exit(7);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        stops[signal]++;
        ptrace(PTRACE_CONT, child, NULL, signal == SIGURG ? (void *)(long)signal : NULL);
    }
    for (int i = 1; i < 65; i++)
        if (stops[i] && i != SIGURG) printf("%d stops for %d\n", stops[i], i);
    printf("ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

int main(void) {
    trace(0);
    trace(1);
}
