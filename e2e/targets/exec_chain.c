/* The program replaces itself by itself in every way there is; an attempt that fails leaves it
 * as it was. With an argument `blocked` all signals are blocked meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_in_chain)
BURNS(burn_unblocked)
extern char **environ;

int main(int argc, char **argv) {
    int step = argc > 1 ? atoi(argv[1]) : 0;
    const char *how = argc > 2 ? argv[2] : "open";
    sigset_t now, all;
    sigprocmask(SIG_SETMASK, NULL, &now);
    printf("step %d: SIGURG %s, HELD=%s, %d variables\n", step,
           sigismember(&now, SIGURG) ? "blocked" : "open", getenv("HELD") ? getenv("HELD") : "no",
           environ ? (environ[0] ? environ[1] ? 2 : 1 : 0) : -1);
    fflush(stdout);
    if (!strcmp(how, "blocked")) { sigfillset(&all); sigprocmask(SIG_SETMASK, &all, NULL); }
    burn_in_chain(0.05);
    char next[16], path[4096];
    snprintf(next, sizeof next, "%d", step + 1);
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length] = 0;
    char *args[] = {argv[0], next, (char *)how, NULL};
    char *held[] = {"HELD=yes", NULL}, *two[] = {"HELD=two", "PATH=/usr/bin:/bin", NULL}, *none[] = {NULL};
    if (execv("/nonexistent", args) != -1 || errno != ENOENT) puts("exec of nothing");
    errno = 0;
    if (execve("/dev/null", args, held) != -1 || errno != EACCES) printf("exec of /dev/null: %d\n", errno);
    burn_in_chain(0.05);
    switch (step) {
    case 0: execv(path, args);
    case 1: execl(path, argv[0], next, how, (char *)NULL);
    case 2: execve(path, args, held);
    case 3: execle(path, argv[0], next, how, (char *)NULL, two);
    case 4: execvp(path, args);
    case 5: execlp(path, argv[0], next, how, (char *)NULL);
    case 6: execvpe(path, args, none);
    case 7: fexecve(open(path, O_RDONLY | O_CLOEXEC), args, held);
#ifdef __GLIBC__
    case 8: execveat(AT_FDCWD, path, args, two, 0);
#else
    case 8: syscall(SYS_execveat, AT_FDCWD, path, args, two, 0);
#endif
    case 9: environ = NULL; execv(path, args);
    case 10: { environ = none; clearenv(); execv(path, args); }
    case 11: {
        int status;
        pid_t child = vfork();
        if (child == 0) { execve(path, args, two); _exit(9); }
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status) + 1);
    }
    }
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    burn_unblocked(0.1);
    puts("end of the chain");
    return 5;
}
