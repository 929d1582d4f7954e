/* Threads that load a library, call it and unload it again, as often as they can, until the input ends. Each line of
 * input is answered by the number of calls so far. It exits with 7. Arguments: libraries, one for each thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int over;
static volatile long calls;

static void *loads(void *name) {
    while (!over) {
        void *file = dlopen(name, RTLD_NOW);
        if (!file) {
            puts(dlerror());
            exit(1);
        }
        long (*plugin)(int) = (long (*)(int))dlsym(file, "plugin");
        if (plugin(20) != 20 * 33 + 190) exit(2);
        dlclose(file);
        __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

int main(int count, char **words) {
    pthread_t threads[16];
    for (int i = 1; i < count; i++) pthread_create(&threads[i], 0, loads, words[i]);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[100];
    while (fgets(line, sizeof line, stdin)) printf("%d\n", calls > 0);
    over = 1;
    for (int i = 1; i < count; i++) pthread_join(threads[i], 0);
    return 7;
}
