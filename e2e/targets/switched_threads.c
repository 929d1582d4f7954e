/* A thread that works alone, then exchanges bytes with another one all the time, then works alone again. The other
 * thread is switched just as often. Both stay on one CPU, so each byte is two switches. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_at_first)
BURNS(burn_at_last)

static int to[2], from[2];

static void *answer(void *nothing) {
    char byte;
    while (read(to[0], &byte, 1) == 1) write(from[1], &byte, 1);
    return nothing;
}

__attribute__((noipa)) static long exchange(double seconds) {
    double end = thread_seconds() + seconds;
    long count = 0;
    char byte = 0;
    while (thread_seconds() < end) {
        for (int i = 0; i < 50; i++) {
            write(to[1], &byte, 1);
            read(from[0], &byte, 1);
        }
        count += 50;
    }
    return count;
}

int main(void) {
    pthread_t thread;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    if (pipe(to) || pipe(from)) return 1;
    pthread_create(&thread, NULL, answer, NULL);
    burn_at_first(0.5);
    long count = exchange(0.5);
    burn_at_last(0.5);
    close(to[1]);
    pthread_join(thread, NULL);
    puts(count > 0 ? "exchanged" : "nothing");
}
