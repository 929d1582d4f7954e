// Frames of every kind that a compiler makes: the test steps through all of it.
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned sink;
static jmp_buf out;

NOINLINE static unsigned leaf(unsigned x) { return x * 2654435761u ^ sink; }

NOINLINE static unsigned pushes(unsigned a, unsigned b, unsigned c, unsigned d) {
    unsigned e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d);
    for (unsigned i = 0; i < 2; i++) e += leaf(f + g * h + i) + a + b + c + d;
    return e ^ f ^ g ^ h;
}

NOINLINE static unsigned recurse(unsigned n) {
    unsigned char room[40];
    memset(room, (int)n, sizeof room);
    return n == 0 ? pushes(1, 2, 3, 4) : recurse(n - 1) + room[n % sizeof room];
}

// A frame of a size that is not known, found by the frame pointer.
NOINLINE static unsigned dynamic(unsigned n) {
    unsigned char *room = alloca(n);
    memset(room, 1, n);
    return recurse(2) + room[n - 1];
}

// A realigned stack: gcc keeps the caller's frame in r10, then next to rbp.
NOINLINE static unsigned realigned(unsigned n) {
    unsigned room[32] __attribute__((aligned(64)));
    for (unsigned i = 0; i < 32; i++) room[i] = leaf(i);
    return pushes(room[0], room[n % 32], room[2], room[3]);
}

// A realigned stack of a size that is not known.
NOINLINE static unsigned realigned_dynamic(unsigned n) {
    unsigned room[16] __attribute__((aligned(64)));
    unsigned *more = alloca(n * sizeof *more);
    for (unsigned i = 0; i < n; i++) more[i] = leaf(i);
    memcpy(room, more, sizeof room < n * sizeof *more ? sizeof room : n * sizeof *more);
    return pushes(room[0], more[n - 1], 1, 2);
}

__attribute__((force_align_arg_pointer)) NOINLINE static unsigned aligned_entry(unsigned n) {
    return pushes(n, n + 1, n + 2, n + 3);
}

NOINLINE static unsigned big(unsigned n) {
    volatile unsigned char room[100000];
    room[n] = 7;
    room[99999 - n] = 8;
    return recurse(1) + room[n];
}

NOINLINE static unsigned many(int count, ...) {
    va_list list;
    va_start(list, count);
    unsigned sum = 0;
    while (count--) sum += va_arg(list, unsigned);
    va_end(list);
    return leaf(sum);
}

static int compare(const void *a, const void *b) {
    unsigned x = leaf(*(const unsigned *)a), y = leaf(*(const unsigned *)b);
    return x < y ? -1 : x > y;
}

static void handler(int signal) {
    sink += pushes(signal, 1, 2, 3);
}

NOINLINE static void jumper(unsigned n) {
    if (n == 0) longjmp(out, 1);
    jumper(n - 1);
    sink++;
}

NOINLINE static double floats(double x) {
    return x > 100 ? x : floats(x * 1.5) + strtod("2.5e1", NULL);
}

int main(int argc, char **argv) {
    unsigned numbers[12] = {5, 3, 9, 1, 4, 12, 7, 2, 8, 11, 6, 10};
    struct sigaction action = {.sa_handler = handler};
    char text[64];
    sink = argc;
    sink += recurse(10) + dynamic(100 + argc) + realigned(argc) + realigned_dynamic(20 + argc);
    sink += aligned_entry(argc) + big(argc) + many(8, 1, 2, 3, 4, 5, 6, 7, 8);
    qsort(numbers, 12, sizeof *numbers, compare);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    if (setjmp(out) == 0) jumper(3);
    snprintf(text, sizeof text, "%s %d %.3f", argv[0], argc, floats(2));
    free(strdup(text));
    return text[0] == 0;
}
