/* Lives under limits, those that it sets itself and those that it was started with. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_within_limits)
static void limit(int which, rlim_t soft) {
    struct rlimit limit;
    getrlimit(which, &limit);
    limit.rlim_cur = soft;
    if (setrlimit(which, &limit)) perror("setrlimit");
}
static void *works(void *nothing) { burn_within_limits(0.05); return nothing; }

int main(int argc, char **argv) {
    const char *which = argv[1];
    limit(RLIMIT_CORE, 0);
    burn_within_limits(0.1);
    if (!strcmp(which, "descriptors")) {
        limit(RLIMIT_NOFILE, 20);
        int opened = 0;
        while (open("/dev/null", O_RDONLY) >= 0) opened++;
        printf("%d opened, %s\n", opened, strerror(errno));
        pthread_t thread;
        printf("thread: %d\n", pthread_create(&thread, NULL, works, NULL));
        pthread_join(thread, NULL);
        for (int fd = 3; fd < 20; fd++) close(fd);
        pid_t child = fork();
        if (child == 0) { burn_within_limits(0.02); _exit(3); }
        int status;
        waitpid(child, &status, 0);
        printf("child: %d\n", WEXITSTATUS(status));
    } else if (!strcmp(which, "memory")) {
        limit(RLIMIT_AS, 400 << 20);
        int blocks = 0;
        while (blocks < 1000 && malloc(1 << 20)) blocks++;
        printf("%s\n", blocks > 250 && blocks < 400 ? "as much as there may be" : "not as much as there may be");
        for (int i = 0; i < 20; i++) burn_within_limits(0.005);
    } else if (!strcmp(which, "started-with")) {
        /* By `ulimit` in the shell. */
        pthread_t thread;
        int refused = pthread_create(&thread, NULL, works, NULL);
        if (!refused) pthread_join(thread, NULL);
        printf("thread: %d\n", refused);
        pid_t child = fork();
        if (child == 0) { burn_within_limits(0.02); _exit(3); }
        int status;
        waitpid(child, &status, 0);
        printf("child: %d\n", WEXITSTATUS(status));
    } else if (!strcmp(which, "time")) {
        limit(RLIMIT_CPU, 1);
        burn_within_limits(10);
    } else if (!strcmp(which, "file")) {
        limit(RLIMIT_FSIZE, 1000);
        FILE *file = fopen("grows", "w");
        for (int i = 0; i < 100000; i++) { spin(1000, 1); fputs("more\n", file); }
    } else if (!strcmp(which, "pending")) {
        limit(RLIMIT_SIGPENDING, 0);
        pthread_t thread;
        printf("thread: %d\n", pthread_create(&thread, NULL, works, NULL));
        pthread_join(thread, NULL);
        burn_within_limits(0.2);
    } else if (!strcmp(which, "locked")) {
        limit(RLIMIT_MEMLOCK, 0);
        burn_within_limits(0.2);
    }
    puts("well");
}
