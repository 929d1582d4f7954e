/* Allocates in a signal handler that interrupts allocating: all that the profiler does when a block comes
 * or goes may be interrupted by its own functions. The C library's allocator does not allow that, so this
 * comes with one that does, as a library (-DALLOCATOR): blocks in a ring, each of which is freed within a round. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef ALLOCATOR

enum { ROUND = 64 << 20 };
static char ring[ROUND] __attribute__((aligned(4096)));
static size_t next;

void *malloc(size_t size) {
    size_t room = (size + 31) & ~(size_t)15;
    if (room > ROUND / 4) return NULL;
    for (;;) {
        size_t from = __atomic_fetch_add(&next, room, __ATOMIC_RELAXED) % ROUND;
        if (from + room > ROUND) continue;
        *(size_t *)(ring + from) = size;
        return ring + from + 16;
    }
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) {
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}
void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    if (old && block) {
        size_t before = *(size_t *)((char *)old - 16);
        memcpy(block, old, before < size ? before : size);
    }
    return block;
}

#else

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { ROUNDS = 150000, THREADS = 3 };
static volatile sig_atomic_t handled;
static void *volatile left;

__attribute__((noinline)) static void use(unsigned seed) {
    static char from[8192];
    size_t size = 16 + seed * 37 % 6000;
    char *block = malloc(size);
    memcpy(block, from, size);
    block = realloc(block, size + 3000);
    void *pages = seed % 8 ? NULL : mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* What others have left is freed here, and what is left here by others. */
    free(__atomic_exchange_n(&left, block, __ATOMIC_RELAXED));
    if (pages) munmap(pages, 8192);
}
static void on_alarm(int signal) {
    (void)signal;
    for (int i = 0; i < 3; i++) use(handled++);
}
static void *work(void *seed) {
    for (unsigned i = 0; i < ROUNDS; i++) use(i + (unsigned)(uintptr_t)seed);
    return NULL;
}

int main(void) {
    static char output[4096];
    setvbuf(stdout, output, _IOFBF, sizeof output);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    puts(handled > 100 ? "interrupted" : "hardly interrupted");
}
#endif
