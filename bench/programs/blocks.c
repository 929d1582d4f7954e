/* Four threads that do little but take small blocks and give them back, some of them each other's.
 *
 *     cc -O2 -g -pthread -o blocks blocks.c && ./blocks [MILLIONS]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, WINDOW = 1024, SHARED = 256 };
static long rounds;
static _Atomic(void *) shared[SHARED];

static void *texts(unsigned draw) { return malloc(16 + draw % 48); }
static void *records(unsigned draw) { return malloc(64 + draw % 192); }
static void *pages(unsigned draw) { return malloc(512 + draw % 3584); }

static void *take(unsigned kind, unsigned draw) {
    return kind < 10 ? texts(draw) : kind < 15 ? records(draw) : pages(draw);
}

static void *work(void *seed) {
    static _Thread_local void *window[WINDOW];
    unsigned long state = (unsigned long)seed * 0x9E3779B97F4A7C15ul + 1;
    for (long round = 0; round < rounds; round++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        unsigned draw = state >> 33;
        char *block = take(draw % 16, draw >> 4);
        *block = 1;
        if (round % 64 == 0) {
            free(atomic_exchange(&shared[draw % SHARED], block));
        } else {
            free(window[draw % WINDOW]);
            window[draw % WINDOW] = block;
        }
    }
    for (int at = 0; at < WINDOW; at++) free(window[at]);
    return NULL;
}

int main(int count, char **words) {
    rounds = (count > 1 ? atol(words[1]) : 40) * 1000000 / THREADS;
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++) pthread_create(&threads[number], NULL, work, (void *)number);
    for (long number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
    puts("done");
}
