/* A thread that waits for more than a second and then blocks every signal, for less time than threads
 * that rest are left out of checks; meanwhile another one that blocks them all. */
#include <pthread.h>
#include <signal.h>
#include "burn.h"

BURNS(burn_deaf)

/* By a system call of its own, which no function of the C library sees. */
static void block_all(void) {
    unsigned long set = ~0ul;
    long number = 14;
    register long bytes __asm__("r10") = 8;
    __asm__ volatile("syscall" : "+a"(number) : "D"((long)SIG_BLOCK), "S"(&set), "d"(0L), "r"(bytes)
                     : "rcx", "r11", "memory");
}

static void *deaf(void *nothing) {
    block_all();
    burn_deaf(1.25);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, deaf, NULL);
    pthread_join(thread, NULL);
    block_all();
    burn_deaf(0.6);
}
