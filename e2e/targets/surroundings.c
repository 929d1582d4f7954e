/* Prints what the program can see of its own surroundings: environment, descriptors, threads,
 * signals, limits, executable memory without a name. A profiler should leave none
 * of it changed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"
extern char **environ;
BURNS(burn_first)

static void count(const char *what, const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    int entries = 0;
    while ((entry = readdir(folder))) entries += entry->d_name[0] != '.';
    closedir(folder);
    printf("%s: %d\n", what, entries);
}

int main(int argc, char **argv) {
    if (argc > 1) burn_first(0.1);
    printf("arguments:");
    for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
    puts("");
    for (char **variable = environ; *variable; variable++) puts(*variable);
    puts(getenv("LD_PRELOAD") ? "preloaded" : "not preloaded");
    count("descriptors", "/proc/self/fd");
    count("threads", "/proc/self/task");
    char target[4096], name[64];
    for (int fd = 0; fd < 64; fd++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = 0;
        if (strchr(target, ':')) *strchr(target, ':') = 0;
        printf("%d: %s, flags %d\n", fd, target, fcntl(fd, F_GETFD));
    }
    FILE *status = fopen("/proc/self/status", "r");
    const char *wanted[] = {"Name", "Umask", "TracerPid", "Uid", "Gid", "FDSize", "Threads",
                            "SigIgn", "CapEff", "NoNewPrivs", "Seccomp", "Cpus_allowed"};
    while (fgets(target, sizeof target, status))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (!strncmp(target, wanted[i], strlen(wanted[i])) && target[strlen(wanted[i])] == ':') fputs(target, stdout);
    fclose(status);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 1; i < 65; i++) {
        struct sigaction now;
        if (sigismember(&blocked, i) == 1) printf("signal %d: blocked\n", i);
        if (i == 32 || i == 33 || sigaction(i, NULL, &now)) continue;
        if (now.sa_handler != SIG_DFL) printf("signal %d: %s\n", i, now.sa_handler == SIG_IGN ? "ignored" : "handled");
    }
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit(i, &limit);
        printf("limit %d: %ld %ld\n", i, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    struct itimerval timer;
    for (int i = 0; i < 3; i++) {
        getitimer(i, &timer);
        printf("timer %d: %ld\n", i, timer.it_value.tv_sec + timer.it_value.tv_usec);
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    int death = -1;
    prctl(PR_GET_PDEATHSIG, &death);
    printf("stack flags %d, dumpable %d, death signal %d, nice %d, policy %d, errno %d\n", stack.ss_flags,
           prctl(PR_GET_DUMPABLE), death, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), errno);
    /* No child has been forked until here. */
    printf("children: %d\n", waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG));
    fflush(stdout);
    if (argc > 1) { printf("%s", ""); system("env | sort | grep -v '^_=' ; ls /proc/self/fd | wc -l"); }
}
