/* Allocates in every way when a line of its input says so, and prints what it has allocated: at each line
 * that ends in a comment, its name, blocks and bytes. A thread allocates and frees all the time. Blocks from before
 * are freed, grown and copied meanwhile. It ends with its input, and exits with 7. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLD 300

static volatile int over;
static char *old[OLD];
static void *kept[500];

static void *noise(void *p) {
    unsigned n = 0;
    while (!over) {
        char *block = malloc(n % 5000 + 1); // noise
        block[0] = 1;
        block = realloc(block, n % 7000 + 1);
        free(block);
        if (++n % 64 == 0) usleep(50);
    }
    return p;
}

static void said(const char *what, long blocks, long bytes) {
    printf("%s %ld %ld\n", what, blocks, bytes);
}

static void *in_thread(void *p) {
    for (int i = 0; i < 100; i++) free(malloc(i + 1)); // threads
    return p;
}

static void work(void) {
    long bytes = 0;
    for (int i = 0; i < 500; i++) {
        free(kept[i]);
        kept[i] = malloc(100 + i); // keeps
        bytes += 100 + i;
    }
    said("keeps", 500, bytes);
    for (int i = 0; i < 500; i += 2) {
        free(kept[i]);
        kept[i] = 0;
    }
    for (int i = 0; i < 1000; i++) free(malloc(64)); // passes
    said("passes", 1000, 64000);
    free(calloc(100, 300)); // zeroes
    said("zeroes", 1, 30000);
    free(aligned_alloc(64, 640)); // aligns
    said("aligns", 1, 640);
    free(memalign(32, 320)); // places
    said("places", 1, 320);
    free(valloc(5000)); // pages
    said("pages", 1, 5000);
    free(reallocarray(NULL, 11, 7)); // arrays
    said("arrays", 1, 77);
    void *posix;
    if (posix_memalign(&posix, 64, 777)) abort(); // posix
    free(posix);
    said("posix", 1, 777);
    void *mapped = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // maps
    munmap(mapped, 1 << 20);
    said("maps", 1, 1 << 20);
    free(strdup("twenty bytes of text")); // copies a text
    said("copies a text", 1, 21);
    bytes = 0;
    for (int i = 0; i < OLD; i++) {
        if (!old[i]) continue;
        if (i % 3 == 0) {
            free(old[i]);
            old[i] = 0;
        } else if (i % 3 == 1) {
            old[i] = realloc(old[i], 5000 + i); // grows
            bytes += 5000 + i;
        } else {
            memmove(old[i], old[(i + 2) % OLD] ? old[(i + 2) % OLD] : old[i], 100);
        }
    }
    said("grows", OLD / 3, bytes);
    pthread_t thread;
    pthread_create(&thread, 0, in_thread, 0);
    pthread_join(thread, 0);
    said("threads", 100, 5050);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 50; i++) free(malloc(1000)); // forked
        _exit(0);
    }
    waitpid(child, 0, 0);
    said("forked", 50, 50000);
}

static void load(const char *name) {
    void *file = dlopen(name, RTLD_NOW);
    if (!file) {
        printf("%s\n", dlerror());
        return;
    }
    long (*plugin)(int) = (long (*)(int))dlsym(file, "plugin");
    long bytes = plugin(200);
    dlclose(file);
    printf("plugin 200 %ld\n", bytes);
}

int main(void) {
    for (int i = 0; i < OLD; i++) old[i] = memset(malloc(100 + i), i, 100);
    pthread_t thread;
    pthread_create(&thread, 0, noise, 0);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "go") == 0) work();
        else load(line);
        puts("done");
    }
    over = 1;
    pthread_join(thread, 0);
    long sum = 0;
    for (int i = 0; i < OLD; i++)
        if (old[i]) sum += old[i][50];
    printf("%ld\n", sum);
    return 7;
}
