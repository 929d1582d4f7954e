// Children of every kind allocate known amounts: of fork, of vfork and posix_spawn with an exec, of a thread while others
// allocate, and of a child.
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4, BLOCKS = 3, BYTES = 1000000, ALLOCATING = 3 };

extern char **environ;
static void *volatile kept;
static atomic_bool is_over;

static void wait_for(pid_t child) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("a child failed: %d\n", status);
        exit(1);
    }
}

__attribute__((noinline)) static void in_child(void) {
    for (int block = 0; block < BLOCKS; block++) {
        kept = malloc(BYTES);  // child
    }
    kept = 0;
}

__attribute__((noinline)) static void in_grandchild(void) {
    for (int block = 0; block < BLOCKS; block++) {
        kept = malloc(BYTES);  // grandchild
    }
    kept = 0;
}

__attribute__((noinline)) static void in_program(void) {
    for (int block = 0; block < BLOCKS; block++) {
        kept = malloc(BYTES);  // program
    }
    kept = 0;
}

static void *allocate(void *unused) {
    while (!atomic_load(&is_over)) {
        void *volatile block = malloc(100);  // thread
        free(block);
    }
    return unused;
}

static void *forks(void *unused) {
    for (int number = 0; number < CHILDREN; number++) {
        pid_t child = fork();
        if (child == 0) {
            in_child();
            _exit(0);
        }
        wait_for(child);
    }
    return unused;
}

int main(int count, char **words) {
    if (count > 1) {
        in_program();
        return 0;
    }
    char *again[] = {words[0], "again", NULL};
    forks(NULL);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            in_grandchild();
            _exit(0);
        }
        wait_for(grandchild);
        _exit(0);
    }
    wait_for(child);
    child = vfork();
    if (child == 0) {
        execv(words[0], again);
        _exit(1);
    }
    wait_for(child);
    if (posix_spawn(&child, words[0], NULL, NULL, again, environ) != 0) return 1;
    wait_for(child);
    pthread_t threads[ALLOCATING], forking;
    for (int number = 0; number < ALLOCATING; number++) {
        pthread_create(&threads[number], NULL, allocate, NULL);
    }
    pthread_create(&forking, NULL, forks, NULL);
    pthread_join(forking, NULL);
    atomic_store(&is_over, 1);
    for (int number = 0; number < ALLOCATING; number++) pthread_join(threads[number], NULL);
    puts("done");
    return 0;
}
