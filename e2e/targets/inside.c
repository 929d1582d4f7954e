/* Threads that burn known shares of CPU time: half, a third and a sixth of it. A line of input makes it
 * execute a child, start a thread, and print its handlers. It ends with its input, and exits with 7. */
#include "burn.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;

BURNS(half)
BURNS(third)
BURNS(sixth)
BURNS(later)

static void *work(void *p) {
    while (!over) {
        half(0.003);
        third(0.002);
        sixth(0.001);
    }
    return p;
}

static void *late(void *p) {
    later(0.3);
    return p;
}

static void handlers(void) {
    for (int signal = 1; signal < 65; signal++) {
        struct sigaction action;
        if (sigaction(signal, 0, &action) == 0 && action.sa_handler != SIG_DFL)
            printf("%d has a handler\n", signal);
    }
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        pthread_t thread;
        pthread_create(&thread, 0, late, 0);
        pthread_join(thread, 0);
        pid_t child = fork();
        if (child == 0) {
            later(0.3);
            _exit(3);
        }
        int status;
        waitpid(child, &status, 0);
        printf("a child has ended with %d\n", WEXITSTATUS(status));
        printf("a program has ended with %d\n", WEXITSTATUS(system("exit 5")));
        handlers();
        puts("done");
    }
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 7;
}
