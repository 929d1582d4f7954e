/* A program that forks all the time while its other threads allocate. Each child loads a library, looks at all loaded
 * files, allocates and ends; one that hangs is ended by its alarm. Each line of input is answered by "hung" and the
 * number of those. It ends with its input, and exits with 7. The argument is the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;
static volatile long hung, forked, failed;

static int visit(struct dl_phdr_info *info, size_t size, void *count) {
    ++*(int *)count;
    return 0;
}

static void child(const char *name) {
    int count = 0;
    alarm(10);
    dl_iterate_phdr(visit, &count);
    void *file = dlopen(name, RTLD_NOW);
    if (!file || count < 3) _exit(2);
    long (*plugin)(int) = (long (*)(int))dlsym(file, "plugin");
    _exit(plugin(20) == 20 * 33 + 190 ? 0 : 3);
}

static void *forks(void *name) {
    while (!over) {
        pid_t pid = fork();
        int status = 0;
        if (pid == 0) child(name);
        if (pid < 0 || waitpid(pid, &status, 0) != pid) abort();
        if (WIFSIGNALED(status)) __atomic_fetch_add(&hung, 1, __ATOMIC_RELAXED);
        else if (status) __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&forked, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

static void *allocates(void *p) {
    while (!over) {
        free(malloc(100));
        usleep(100);
    }
    return p;
}

int main(int count, char **words) {
    if (count < 2) return 1;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, i < 2 ? forks : allocates, words[1]);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[100];
    while (fgets(line, sizeof line, stdin)) printf("hung %ld failed %ld\n", hung, failed);
    over = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("hung %ld failed %ld\n", hung, failed);
    return forked ? 7 : 8;
}
