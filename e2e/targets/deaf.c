/* Threads that block every signal by a system call of their own, so that no signal of the profiler reaches them: one
 * for all of its life, one for two thirds of its time, one for less than the profiler looks for; and the
 * first thread at its end. */
#include <pthread.h>
#include <signal.h>
#include "burn.h"

BURNS(burn_deaf)
BURNS(burn_heard)

/* By a system call of its own, which no function of the C library sees. */
static void raw_mask(int how, unsigned long set) {
    long number = 14;
    register long bytes __asm__("r10") = 8;
    __asm__ volatile("syscall" : "+a"(number) : "D"((long)how), "S"(&set), "d"(0L), "r"(bytes)
                     : "rcx", "r11", "memory");
}

static void *whole(void *nothing) {
    raw_mask(SIG_BLOCK, ~0ul);
    burn_deaf(0.8);
    return nothing;
}
static void *part(void *nothing) {
    for (int i = 0; i < 40; i++) {
        raw_mask(SIG_BLOCK, ~0ul);
        burn_deaf(0.02);
        raw_mask(SIG_UNBLOCK, ~0ul);
        burn_heard(0.01);
    }
    return nothing;
}
static void *heard(void *nothing) {
    burn_heard(0.4);
    return nothing;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, whole, NULL);
    pthread_create(&threads[1], NULL, part, NULL);
    pthread_create(&threads[2], NULL, heard, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    whole(NULL);
}
