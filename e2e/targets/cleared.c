/* Allocates and works. When a file named `go` is there, or when it has had the profiler clear its data itself, it frees
   what it kept, allocates on other lines and works on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_before)
BURNS(burn_after)

static void *kept[1000];

__attribute__((noinline)) static void *take(size_t size) {
    return malloc(size); // takes
}

static void announce(const char *name) {
    char part[64];
    snprintf(part, sizeof part, "%s.part", name);
    FILE *file = fopen(part, "w");
    fprintf(file, "%010d\n", getpid());
    fclose(file);
    rename(part, name);
}

int main(int argc, char **argv) {
    (void)argv;
    burn_before(0.3);
    for (int i = 0; i < 1000; i++) kept[i] = take(100);
    for (int i = 0; i < 1000; i++) free(malloc(300)); // before
    announce("ready");
    if (argc > 1) {
        int (*forget)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "profundo_clear");
        if (forget && !forget()) return 3;
    } else
        while (access("go", F_OK)) usleep(1000);
    for (int i = 0; i < 1000; i++) free(kept[i]);
    for (int i = 0; i < 500; i++) kept[i] = malloc(400); // after
    for (int i = 0; i < 10; i++) take(1000);
    burn_after(0.3);
    puts("done");
    return 0;
}
