/* Recursion, fifty thousand calls deep, on a thread with room for it. */
#include <pthread.h>
#include <stdio.h>
#include "burn.h"

BURNS(burn_at_the_bottom)
__attribute__((noinline)) static long goes_down(int n) {
    volatile long room[4] = {n};
    if (n == 0) { burn_at_the_bottom(0.5); return 0; }
    long below = goes_down(n - 1);
    return below + room[0] % 3;
}
static void *runs(void *sum) { *(long *)sum = goes_down(50000); return NULL; }

int main(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 20);
    pthread_t thread;
    long sum = 0;
    pthread_create(&thread, &attr, runs, &sum);
    pthread_join(thread, NULL);
    printf("%ld\n", sum);
}
