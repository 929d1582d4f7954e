/* Libraries are loaded, run for a while and unloaded again, at addresses that change. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "burn.h"

int main(int argc, char **argv) {
    int rounds = 60, sum = 0;
    for (int i = 0; i < rounds; i++) {
        void *handle = dlopen(argv[1], i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (!handle) { puts(dlerror()); return 1; }
        int (*plugin)(double) = (int (*)(double))dlsym(handle, "plugin");
        sum += plugin(0.02);
        dlclose(handle);
        free(malloc(100000 + i * 4096));
    }
    printf("%d\n", sum);
    /* A library that is still there at the end, and one that does not exist. */
    dlopen(argv[1], RTLD_NOW);
    puts(dlopen("/nonexistent.so", RTLD_NOW) ? "found" : "not found");
    puts(dlsym(RTLD_DEFAULT, "pthread_create") ? "found" : "not found");
}
