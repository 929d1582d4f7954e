// Half a million different stacks that allocate, and then a hundred megabytes at one line.
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 19, BLOCKS = 100, BYTES = 1000000 };

static void *volatile kept;

__attribute__((noinline)) static void branch(int depth);

__attribute__((noinline)) static void left(int depth) {
    branch(depth);
    kept = 0;
}

__attribute__((noinline)) static void right(int depth) {
    branch(depth);
    kept = 0;
}

static void branch(int depth) {
    if (depth == 0) {
        void *block = malloc(16);  // many
        kept = block;
        free(block);
        return;
    }
    left(depth - 1);
    right(depth - 1);
    kept = 0;
}

int main(void) {
    branch(DEPTH);
    for (int number = 0; number < BLOCKS; number++) {
        kept = malloc(BYTES);  // last
        if (!kept) return 1;
    }
    puts("done");
    return 0;
}
