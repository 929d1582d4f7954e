/* Ten thousand threads, joined and detached, each of which does next to nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "burn.h"

static atomic_int count;
__attribute__((noinline)) static void *short_work(void *n) {
    spin(20000, (unsigned)(long)n);
    count++;
    return n;
}

int main(void) {
    int wrong = 0;
    for (int i = 0; i < 9000; i += 10) {
        pthread_t threads[10];
        for (long t = 0; t < 10; t++)
            if (pthread_create(&threads[t], NULL, short_work, (void *)(i + t))) return 1;
        for (long t = 0; t < 10; t++) {
            void *result;
            if (pthread_join(threads[t], &result) || result != (void *)(i + t)) wrong++;
        }
    }
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (int i = 9000; i < 10000; i++) {
        pthread_t thread;
        while (pthread_create(&thread, &attr, short_work, NULL)) usleep(100);
    }
    while (count < 10000) usleep(1000);
    printf("%d threads, %d wrong\n", count, wrong);
}
