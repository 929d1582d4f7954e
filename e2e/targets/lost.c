/* Keeps blocks in all places where a program may keep them, and, if it is told so, loses some. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct node {
    struct node *next, *previous;
    char text[200];
};

static struct node *list;
static char *inside;
static __thread void *volatile own;
static void **mapped;
static pthread_barrier_t ready;

__attribute__((noinline)) static void *take(size_t size) {
    void *block = malloc(size); // takes
    memset(block, 0, size);
    return block;
}

/* What was used before has stale pointers; so has what is freed. */
__attribute__((noinline)) static void wipe(void) {
    volatile char below[64 << 10];
    memset((void *)below, 0, sizeof below);
}

static struct node *chain(int length) {
    struct node *first = NULL;
    for (int i = 0; i < length; i++) {
        struct node *node = calloc(1, sizeof *node); // chained
        node->next = first;
        if (first) first->previous = node;
        first = node;
    }
    return first;
}

__attribute__((noinline)) static void lose(void) {
    for (int i = 0; i < 30; i++) free(take(500));
    for (int i = 0; i < 30; i++) {
        char *block = malloc(1000); // lost
        memset(block, 0, 1000);
        if (i == 7) memcpy(block + 16, &block, sizeof block);
    }
    chain(20); // a chain
    free(take(100));
}

__attribute__((noinline)) static void keep_on_the_stack(void) {
    void *volatile block = malloc(3000); // on the stack
    void *volatile middle = (char *)malloc(3000) + 1500; // in the middle
    own = malloc(3000); // thread-local
    pthread_barrier_wait(&ready);
    while (1) pause();
    free(block);
    free(middle);
}

static void *run(void *unused) {
    keep_on_the_stack();
    return unused;
}

/* A function that has the only pointer in a register. */
static void *run_and_hold(void *unused) {
    void *block = malloc(3000); // in a register
    memset(block, 0, 3000);
    pthread_barrier_wait(&ready);
    __asm__ volatile("mov %0, %%rbx; xor %0, %0; 1: mov $34, %%eax; syscall; jmp 1b" : "+r"(block)::"rbx", "rax", "rcx", "r11", "memory");
    return unused;
}

int main(int argc, char **argv) {
    pthread_barrier_init(&ready, NULL, 3);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_create(&thread, NULL, run_and_hold, NULL);
    list = chain(50);
    inside = (char *)take(700) + 333;
    mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[100] = malloc(5000); // mapped
    own = malloc(6000); // main's own
    void **table = take(100 * sizeof *table);
    for (int i = 0; i < 100; i++) table[i] = take(50 + i);
    list->next->next->previous = (struct node *)table;
    pthread_barrier_wait(&ready);
    if (argc > 1 && !strcmp(argv[1], "loses")) lose();
    wipe();
    printf("%s\n", inside ? "kept" : "");
    return 5;
}
