// Many more threads than processors, which all allocate at the same time.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 1000, BLOCKS = 200 };

static pthread_barrier_t all;

static void *allocate(void *unused) {
    pthread_barrier_wait(&all);
    for (int block = 0; block < BLOCKS; block++) {
        void *volatile kept = malloc(100);  // each
        free(kept);
        for (volatile int turn = 0; turn < 10000; turn++) {
        }
    }
    return unused;
}

int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int number = 0; number < THREADS; number++) {
        if (pthread_create(&threads[number], &small, allocate, NULL) != 0) return 1;
    }
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
    puts("done");
    return 0;
}
