/* A program that never rests: threads, forks, a library that comes and goes, code that is made anew,
 * blocks that come and go. `restless SECONDS LIBRARY`. It works for a quarter of the time in each of
 * four functions, and prints the CPU time of each quarter. What it keeps does not grow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

#define HELD 1000

static char *library;
static void *held[HELD];
static unsigned random_state = 1;

static unsigned next(void) {
    random_state = random_state * 1103515245 + 12345;
    return random_state >> 8;
}

static void allocate(int times) {
    while (times--) {
        unsigned which = next() % HELD;
        free(held[which]);
        size_t size = 16 + next() % 2000;
        held[which] = malloc(size);
        memset(held[which], 1, size);
    }
}

static void make_code(void) {
#if defined(__x86_64__)
    static const unsigned char count_down[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0xff,
                                               0xc8, 0x75, 0xfb, 0x5d, 0xc3};
#else
    static const uint32_t count_down[] = {0xa9bf7bfd, 0x910003fd, 0xf1000400,
                                          0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#endif
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) abort();
    memcpy(code, count_down, sizeof count_down);
    __builtin___clear_cache(code, (char *)code + sizeof count_down);
    if (mprotect(code, 4096, PROT_READ | PROT_EXEC)) abort();
    ((void (*)(long))code)(100000);
    munmap(code, 4096);
}

static void use_library(void) {
    void *loaded = dlopen(library, RTLD_NOW);
    if (!loaded) { fprintf(stderr, "%s\n", dlerror()); abort(); }
    ((int (*)(double))dlsym(loaded, "plugin"))(0.001);
    dlclose(loaded);
}

static void have_child(void) {
    pid_t child = fork();
    if (child == 0) { spin(100000, 1); _exit(7); }
    int status;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) abort();
}

static int quarter;

/* What a thread does, or the whole program in a round. */
#define QUARTER(n) \
    __attribute__((noinline)) static void *quarter_##n(void *is_thread) { \
        work(is_thread); \
        __asm__ volatile("" ::: "memory"); \
        return NULL; \
    }

static void work(void *is_thread);
QUARTER(1)
QUARTER(2)
QUARTER(3)
QUARTER(4)
static void *(*const quarters[])(void *) = {quarter_1, quarter_2, quarter_3, quarter_4};

static void work(void *is_thread) {
    static unsigned round;
    if (is_thread) { spin(200000, 1); return; }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, quarters[quarter], &quarter)) abort();
    allocate(500);
    switch (round++ % 4) {
        case 0: have_child(); break;
        case 1: use_library(); break;
        case 2: make_code(); break;
        default: spin(200000, 1);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double used(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    double seconds = atof(argv[1]);
    library = argv[2];
    double began = now();
    for (quarter = 0; quarter < 4; quarter++) {
        double before = used(RUSAGE_SELF) + used(RUSAGE_CHILDREN);
        while (now() - began < seconds * (quarter + 1) / 4) {
            quarters[quarter](NULL);
            usleep(10000);
        }
        printf("quarter_%d %.3f\n", quarter + 1, used(RUSAGE_SELF) + used(RUSAGE_CHILDREN) - before);
        fflush(stdout);
    }
    puts("it has rested");
    return 7;
}
