/* Starts `surroundings` in every way there is: its environment is the one it is meant to have. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"
extern char **environ;
BURNS(burn_between)

static void ended(const char *how, pid_t child) {
    int status;
    waitpid(child, &status, 0);
    printf("== %s: %x\n", how, status);
    fflush(stdout);
    burn_between(0.02);
}

int main(int argc, char **argv) {
    char *path = argv[1], *args[] = {"surroundings", "x", NULL}, *none[] = {NULL};
    char *some[] = {"A=1", "LD_PRELOAD=", "PATH=/usr/bin:/bin", NULL}, *own[] = {"LD_PRELOAD=libm.so.6", "PATH=/usr/bin:/bin", NULL};
    char **environments[] = {environ, none, some, own};
    pid_t child;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 4; i++) {
        if (!posix_spawn(&child, path, NULL, NULL, args, environments[i])) ended("posix_spawn", child);
        if (!(child = vfork())) { execve(path, args, environments[i]); _exit(1); }
        ended("vfork", child);
        if (!(child = fork())) { execvpe(path, args, environments[i]); _exit(1); }
        ended("fork", child);
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, 0);
    posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attr);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attr, &all);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    if (!posix_spawnp(&child, path, &actions, &attr, args, environ)) ended("posix_spawnp with all", child);
    printf("posix_spawn of nothing: %d\n", posix_spawn(&child, "/nonexistent", NULL, NULL, args, environ));
    setenv("NEW", "one", 1);
    unsetenv("GIVEN");
    char command[5000];
    snprintf(command, sizeof command, "%s x", path);
    printf("== system: %x\n", system(command));
    FILE *pipe = popen(command, "r");
    char line[4096];
    while (fgets(line, sizeof line, pipe)) fputs(line, stdout);
    printf("== popen: %x\n", pclose(pipe));
    if (!clearenv()) { snprintf(command, sizeof command, "%s x", path); printf("== without any: %x\n", system(command)); }
}
