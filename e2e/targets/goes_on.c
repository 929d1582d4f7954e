/* Works in a thread of its own until its standard input ends; another thread waits in epoll_wait, which
 * fails with EINTR when anything interrupts it, and counts that. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "burn.h"

static atomic_int over, interrupted;
BURNS(burn_on_and_on)

static void *waits_shortly(void *unused) {
    (void)unused;
    int epoll = epoll_create1(0);
    struct epoll_event ready;
    while (!over) {
        if (epoll_wait(epoll, &ready, 1, 1) < 0 && errno == EINTR) interrupted++;
        burn_on_and_on(0.0002);
    }
    return NULL;
}

static void *works(void *unused) {
    (void)unused;
    while (!over) burn_on_and_on(0.002);
    return NULL;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, works, NULL);
    pthread_create(&threads[1], NULL, waits_shortly, NULL);
    printf("begun\n");
    char byte;
    while (read(0, &byte, 1) > 0) {}
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", interrupted);
    return 7;
}
