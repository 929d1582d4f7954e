/* Work of the C targets: it takes CPU time, measured by the clock of the thread. */
#ifndef BURN_H
#define BURN_H
#include <time.h>

static inline double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* A loop that the compiler keeps. */
static inline unsigned spin(unsigned n, unsigned x) {
    for (unsigned i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* A function of this name that takes so much CPU time of its thread. No optimisation merges it
 * with another or renames it. */
#define BURNS(name)                                              \
    __attribute__((noipa)) static unsigned name(double s) {   \
        double end = thread_seconds() + s;                       \
        unsigned x = 1;                                          \
        while (thread_seconds() < end) x = spin(20000, x);       \
        return x;                                                \
    }
#endif
