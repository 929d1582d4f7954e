// Allocates known numbers of bytes on known lines, in each of the C library's ways.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MANY = 1000 };

static void *volatile kept[MANY];
static void *volatile sink;

static void *taken(void *block) {
    if (block == NULL)
        abort();
    sink = block;
    return block;
}

static void *frees(void *unused) {
    for (int at = 0; at < MANY; at += 2) {
        free(kept[at]);
        kept[at] = NULL;
    }
    return unused;
}

int main(void) {
    for (int at = 0; at < MANY; at++)
        kept[at] = taken(malloc(100 + at)); // keeps
    for (int at = 0; at < MANY; at++)
        free(taken(malloc(64))); // passes
    void *zeroed = taken(calloc(30, 1000)); // zeroes
    void *grown = NULL;
    for (int times = 1; times <= 10; times++)
        grown = taken(realloc(grown, times * 1000)); // grows
    void *array = taken(reallocarray(NULL, 7, 11)); // arrays
    void *aligned = taken(aligned_alloc(64, 640)); // aligns
    void *page = taken(memalign(4096, 5000)); // pages
    void *posix = NULL;
    if (posix_memalign(&posix, 128, 777) != 0) // posix
        return 1;
    void *nothing = malloc(0); // nothing
    void *mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // maps
    void *reserved = mmap(NULL, 1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // reserves
    char *text = taken(strdup("twenty characters...")); // copies a text
    // Another thread frees every other block.
    pthread_t thread;
    if (pthread_create(&thread, NULL, frees, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    char *from = taken(malloc(1 << 22)), *to = taken(malloc(1 << 22)); // large
    for (int times = 0; times < 16; times++) {
        memset(from, times, 1 << 22);
        memcpy(to, from, (1 << 22) - times); // copies
        sink = to;
    }
    printf("%zu\n", malloc_usable_size(zeroed) >= 30000 ? sizeof(int) : 0);
    munmap(mapped, 1 << 19);
    munmap((char *)mapped + (1 << 19), 1 << 19);
    munmap(reserved, 1 << 30);
    free(zeroed);
    free(grown);
    free(array);
    free(aligned);
    free(page);
    free(posix);
    free(nothing);
    free(text);
    return 0;
}
