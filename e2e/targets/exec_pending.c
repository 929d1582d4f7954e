/* Programs that block all signals become others in every way there is, at the end of work in which
 * any clock runs out; the signals that are pending then are those that were sent. Each second program is
 * statically linked, and prints them; each second of the others has a handler of its own for traps. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_blocked)
extern char **environ;
static char **args;
static int step;

static void own(int signal) { (void)signal; }
static void become(void) {
    kill(getpid(), SIGUSR1);
    burn_blocked(0.012 + step % 7 * 0.0003);
    /* One that fails leaves all as it was. */
    if (step % 3 == 0) { execv("/nonexistent", args); burn_blocked(0.004); }
    switch (step / 2 % 8) {
    case 0: execv(args[1], args);
    case 1: execve(args[1], args, environ);
    case 2: execvp(args[1], args);
    case 3: fexecve(open(args[1], O_RDONLY | O_CLOEXEC), args, environ);
    case 4: execl(args[1], args[0], args[1], args[2], args[3], (char *)NULL);
    case 5: syscall(SYS_execve, args[1], args, environ);
    case 6: syscall(SYS_execveat, AT_FDCWD, args[1], args, environ, 0);
    case 7: {
        int status;
        pid_t child = vfork();
        if (child == 0) { execv(args[1], args); _exit(9); }
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    }
    puts("cannot");
    exit(1);
}
__attribute__((unused)) static void *becomes(void *nothing) { become(); return nothing; }

/* Arguments: itself, the static program, itself, the step. */
int main(int argc, char **argv) {
    (void)argc;
    args = argv;
    step = atoi(argv[3]);
#ifdef PRINTS_PENDING
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "SigPnd", 6) || !strncmp(line, "ShdPnd", 6)) printf("%d %s", step, line);
    fclose(status);
    fflush(stdout);
    sigset_t none;
    sigemptyset(&none);
    signal(SIGUSR1, own);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (step == 64) return 0;
    char next[16];
    snprintf(next, sizeof next, "%d", step + 1);
    char *again[] = {argv[0], argv[1], argv[2], next, NULL};
    execv(argv[2], again);
    return 1;
#else
    pthread_t thread;
    sigset_t all;
    if (step % 2) signal(SIGTRAP, own);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (step % 5 == 4) { pthread_create(&thread, NULL, becomes, NULL); for (;;) pause(); }
    become();
#endif
}
