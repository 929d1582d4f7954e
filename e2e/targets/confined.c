// A program that can open no file and write to none, as in another root, without a free descriptor and with a limit on the
// length of files, and then allocates at thousands of stacks, in threads that begin only then as well.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DEPTH = 14, THREADS = 3 };

static void *volatile kept[THREADS + 1];

__attribute__((noinline)) static void branch(int depth, int number);

__attribute__((noinline)) static void left(int depth, int number) {
    branch(depth, number);
    kept[number] = 0;
}

__attribute__((noinline)) static void right(int depth, int number) {
    branch(depth, number);
    kept[number] = 0;
}

static void branch(int depth, int number) {
    if (depth == 0) {
        void *block = malloc(16);  // many
        kept[number] = block;
        free(block);
        return;
    }
    left(depth - 1, number);
    right(depth - 1, number);
    kept[number] = 0;
}

static void *allocate(void *number) {
    branch(DEPTH, (int)(long)number);
    return NULL;
}

int main(int count, char **words) {
    struct rlimit none = {0, 0};
    pthread_t threads[THREADS];
    if (count > 1 && chroot(words[1]) != 0) return 1;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_NOFILE, &none) != 0 || setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
    branch(DEPTH, 0);
    for (long number = 0; number < THREADS; number++) {
        if (pthread_create(&threads[number], NULL, allocate, (void *)(number + 1)) != 0) return 1;
    }
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
    puts("done");
    return 0;
}
