/* Four hundred children, by fork and by vfork, from the main thread and from another one, eight
 * at a time, some with children of their own; each ends with a code of its own. Most
 * are gone before anybody could look at them; every twentieth lives long enough. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_in_child)
BURNS(burn_in_grandchild)

static long storm(int children, int with_children) {
    long sum = 0;
    for (int started = 0, ended = 0; ended < children;) {
        if (started < children && started - ended < 8) {
            pid_t child = started % 5 == 4 ? vfork() : fork();
            if (child == 0) {
                if (started % 5 == 4) _exit(started % 7);
                burn_in_child(started % 20 == 3 ? 0.1 : 0.002);
                free(malloc(10000));
                if (with_children && started % 10 == 0) {
                    pid_t grandchild = fork();
                    if (grandchild == 0) { burn_in_grandchild(0.002); exit(1); }
                    int status;
                    waitpid(grandchild, &status, 0);
                    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) _exit(99);
                }
                if (started % 3) _exit(started % 7);
                exit(started % 7);
            }
            if (child < 0) { perror("fork"); exit(1); }
            started++;
        } else {
            int status;
            if (wait(&status) < 0) { perror("wait"); exit(1); }
            if (!WIFEXITED(status)) { printf("status %x\n", status); }
            sum += WEXITSTATUS(status);
            ended++;
        }
    }
    return sum;
}

static void *from_thread(void *sum) {
    *(long *)sum = storm(100, 0);
    return NULL;
}

int main(void) {
    printf("%ld\n", storm(300, 1));
    fflush(stdout);
    long sum = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, from_thread, &sum);
    pthread_join(thread, NULL);
    printf("%ld\n", sum);
}
