/* A program that makes no system calls between its two lines. It allocates and computes for as
   many milliseconds as its argument says, whatever befalls its profiler, and ends with code 7. */

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned work_steadily(unsigned long turns) {
    volatile unsigned sum = 1;
    for (unsigned long turn = 0; turn < turns; turn++)
        sum = sum * 1664525 + 1013904223;
    return sum;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time); /* In the vDSO. */
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void say(const char *line) {
    if (write(1, line, strlen(line)) < 0)
        _exit(8);
}

int main(int argc, char **argv) {
    double end = now() + (argc > 1 ? atof(argv[1]) : 100) / 1e3;
    void *kept[64] = {0};
    unsigned turn = 0;
    say("begun\n");
    while (now() < end) {
        work_steadily(20000);
        free(kept[turn % 64]);
        kept[turn++ % 64] = malloc(64 + turn % 512);
    }
    say("done\n");
    return 7;
}
