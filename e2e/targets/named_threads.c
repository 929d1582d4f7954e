/* Four threads with names and equal work, alive when main returns: three wait, one works on. One
 * thread is cancelled, one has the smallest stack there may be. */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_in_alpha)
BURNS(burn_in_beta)
BURNS(burn_in_gamma)
BURNS(burn_in_delta)
typedef unsigned (*Burn)(double);
static struct { const char *name; Burn burn; } WORK[] = {
    {"alpha", burn_in_alpha}, {"beta", burn_in_beta}, {"gamma", burn_in_gamma}, {"delta", burn_in_delta}};
static pthread_barrier_t done;

static void *work(void *argument) {
    long i = (long)argument;
    pthread_setname_np(pthread_self(), WORK[i].name);
    WORK[i].burn(0.4);
    pthread_barrier_wait(&done);
    if (i == 3) for (;;) WORK[3].burn(0.01);
    for (;;) pause();
    return NULL;
}
static void cleaned(void *nothing) { (void)nothing; puts("cancelled"); }
static void *waits(void *nothing) {
    pthread_cleanup_push(cleaned, NULL);
    for (;;) pause();
    pthread_cleanup_pop(0);
    return nothing;
}
static void *small(void *nothing) { spin(3000000, 1); return nothing; }

int main(void) {
    pthread_barrier_init(&done, NULL, 5);
    pthread_t thread;
    for (long i = 0; i < 4; i++) pthread_create(&thread, NULL, work, (void *)i);
    pthread_t waiting;
    pthread_create(&waiting, NULL, waits, NULL);
    pthread_cancel(waiting);
    void *result;
    pthread_join(waiting, &result);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    int refused = pthread_attr_setstacksize(&attr, sysconf(_SC_THREAD_STACK_MIN));
    pthread_create(&thread, &attr, small, NULL);
    pthread_join(thread, NULL);
    pthread_barrier_wait(&done);
    printf("%d %d\n", result == PTHREAD_CANCELED, refused);
    return 3;
}
