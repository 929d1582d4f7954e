/* Makes the mistake that its argument names, for a sanitizer to find. It works before that, so that there is
 * something to sample. With further arguments it executes these first, in a child. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) unsigned burn_sanitized(double s) {
    double end = seconds() + s;
    unsigned x = 1;
    while (seconds() < end)
        for (int i = 0; i < 2000; i++) x = x * 1664525u + 1013904223u;
    return x;
}

static volatile int shared;
/* Relaxed: they order both threads in time, and a sanitizer sees no order. */
static int first_wrote, second_wrote;

static void *write_first(void *unused) {
    (void)unused;
    shared = 1;
    __atomic_store_n(&first_wrote, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&second_wrote, __ATOMIC_RELAXED)) sched_yield();
    return NULL;
}

__attribute__((noinline)) static void race(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, write_first, NULL);
    while (!__atomic_load_n(&first_wrote, __ATOMIC_RELAXED)) sched_yield();
    shared = 2;
    __atomic_store_n(&second_wrote, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

__attribute__((noinline)) static int overflow(volatile char *block, int at) { return block[at]; }

static void *overflow_in_thread(void *block) {
    return (void *)(long)overflow(block, 10);
}

__attribute__((noinline)) static void leak(void) {
    volatile char *lost = malloc(1234);
    lost[0] = 1;
}

__attribute__((noinline)) static int uninitialised(void) {
    volatile int *words = malloc(64);
    int is_set = words[3] == 7;
    if (is_set) puts("seven");
    free((void *)words);
    return is_set;
}

__attribute__((noinline)) static int undefined(int by) { return 1 << by; }

int main(int argc, char **argv) {
    const char *mistake = argc > 1 ? argv[1] : "none";
    if (argc > 2) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            execvp(argv[2], argv + 2);
            _exit(127);
        }
        int status;
        waitpid(child, &status, 0);
        printf("child: %d\n", status);
    }
    burn_sanitized(0.2);
    printf("%s: %s LD_PRELOAD\n", mistake, getenv("LD_PRELOAD") ? "with" : "without");
    fflush(stdout);
    if (!strcmp(mistake, "overflow")) {
        char *block = malloc(10);
        memset(block, 1, 10);
        return overflow(block, 10);
    }
    if (!strcmp(mistake, "thread-overflow")) {
        pthread_t thread;
        pthread_create(&thread, NULL, overflow_in_thread, malloc(10));
        pthread_join(thread, NULL);
    }
    if (!strcmp(mistake, "leak")) leak();
    if (!strcmp(mistake, "race")) race();
    if (!strcmp(mistake, "uninitialised")) return uninitialised();
    if (!strcmp(mistake, "undefined")) return undefined(argc + 40) == 12345;
    return 0;
}
