/* Threads, children and programs that come and go for so many seconds: as long as the program runs,
 * a hundred a second or so. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(in_thread)
BURNS(in_child)
BURNS(in_main)

static void *work(void *unused) {
    (void)unused;
    in_thread(0.003);
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int count, char **words) {
    if (count > 2) { /* A program that the program has executed. */
        in_child(0.003);
        return 0;
    }
    double end = now() + (count > 1 ? atof(words[1]) : 2.0);
    while (now() < end) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < 3; i++) {
            pid_t child = fork();
            if (child == 0) {
                in_child(0.003);
                if (i > 0) _exit(0);
                execl("/proc/self/exe", words[0], "0", "inner", (char *)NULL);
                _exit(1);
            }
            waitpid(child, NULL, 0);
        }
        in_main(0.01);
    }
    puts("done");
    return 0;
}
