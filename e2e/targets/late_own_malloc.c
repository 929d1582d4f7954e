/* A program with an allocator of its own, in which each of its threads is most of the time. A thread must not come
 * into it twice: the second time, it would find the allocator in the middle of its work. It ends with its input,
 * prints how often that has happened, and exits with 7. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static __thread int is_inside;
static volatile long twice;
static volatile int over;

static void spin(int turns) {
    for (volatile int i = 0; i < turns; i++) continue;
}

#define ROOM (1l << 30)
static char *next;

__attribute__((noinline)) static void *take(size_t bytes) {
    spin(2000);
    /* Blocks are never used again, but their places are: the kernel gives only those memory that are touched. */
    static char *first;
    if (!first) {
        char *room = mmap(0, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        char *none = 0;
        if (__atomic_compare_exchange_n(&first, &none, room, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) next = room;
        while (!next) continue;
    }
    size_t whole = (bytes + 31) / 16 * 16 + 16;
    char *block = __atomic_fetch_add(&next, whole, __ATOMIC_SEQ_CST);
    if (block + whole > first + ROOM) return 0;
    *(size_t *)block = bytes;
    return block + 16;
}

__attribute__((noinline)) static void *enter(size_t bytes) {
    if (is_inside++) __atomic_fetch_add(&twice, 1, __ATOMIC_SEQ_CST);
    void *block = take(bytes);
    is_inside--;
    return block;
}

void *malloc(size_t bytes) {
    void *block = enter(bytes);
    if (!block) errno = ENOMEM;
    return block;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }

void *realloc(void *old, size_t bytes) {
    void *block = malloc(bytes);
    if (old && block) {
        size_t before = ((size_t *)old)[-2];
        memcpy(block, old, before < bytes ? before : bytes);
    }
    return block;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    char *block = malloc(bytes + alignment);
    return block + (alignment - (size_t)block % alignment) % alignment;
}

void *memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    *block = aligned_alloc(alignment, bytes);
    return 0;
}

static void *allocates(void *p) {
    while (!over) {
        char *block = malloc(40);
        if (!block) return 0;
        free(block);
        spin(1000);
    }
    return p;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, allocates, 0);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    /* The main thread does not wait either. */
    struct pollfd input = {0, POLLIN, 0};
    while (poll(&input, 1, 0) == 0)
        for (int i = 0; i < 1000; i++) {
            free(malloc(40));
            spin(1000);
        }
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%ld\n", twice);
    return 7;
}
