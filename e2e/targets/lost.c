/* Keeps blocks in all places where a program may keep them, and loses some with the argument `loses`. */
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

/* Ends the program with the only pointer to a block in a register. */
__attribute__((noinline)) static void end_and_hold(void) {
    void *block = malloc(3000); // in a register
    memset(block, 0, 3000);
    fflush(stdout);
    __asm__ volatile("mov %0, %%rbx; xor %0, %0; mov $5, %%edi; and $-16, %%rsp; call exit@PLT" : "+a"(block)::"rbx", "rdi", "memory");
    __builtin_unreachable();
}

__attribute__((noinline)) static void *take_and_end(void *unused) {
    free(take(400));
    return unused;
}

__attribute__((noinline)) static void keep_on_the_stack(int loses) {
    void *volatile block = malloc(3000); // on the stack
    void *volatile middle = (char *)malloc(3000) + 1500; // in the middle
    own = malloc(6000); // thread-local
    if (loses) lose();
    wipe();
    printf("%s\n", inside ? "kept" : "");
    end_and_hold();
    free(block);
    free(middle);
}

int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, NULL, take_and_end, NULL);
    pthread_join(thread, NULL);
    list = chain(50);
    inside = (char *)take(700) + 333;
    mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[100] = malloc(5000); // mapped
    void **table = take(100 * sizeof *table);
    for (int i = 0; i < 100; i++) table[i] = take(50 + i);
    list->next->next->previous = (struct node *)table;
    keep_on_the_stack(argc > 1 && !strcmp(argv[1], "loses"));
}
