/* A program that takes a hundred megabytes in small blocks, gives every other one back, and prints its
 * allocator's figures: the bytes that were in use at most, and the bytes in use and free in the end. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 100000, SIZE = 1000 };
static char *blocks[BLOCKS];

int main(void) {
    for (int at = 0; at < BLOCKS; at++) {
        blocks[at] = malloc(SIZE);
        memset(blocks[at], 1, SIZE);
    }
    struct mallinfo2 full = mallinfo2();
    usleep(800000);
    for (int at = 0; at < BLOCKS; at += 2)
        free(blocks[at]);
    struct mallinfo2 half = mallinfo2();
    printf("%zu %zu %zu\n", full.uordblks, half.uordblks, half.fordblks);
    fflush(stdout);
    /* Long enough for the recorder to read the pages' owners, however busy the machine. */
    usleep(3000000);
    return 0;
}
