/* A program that allocates from two lines, and keeps what one of them allocates. */
#include <stdlib.h>
#include <unistd.h>

struct box {
    struct box *next;
    char content[1000];
};

static struct box *boxes;

__attribute__((noinline)) static void keep(void) {
    struct box *box = calloc(1, sizeof *box);
    box->next = boxes;
    boxes = box;
}

__attribute__((noinline)) static void drop(void) {
    char *block = malloc(5000);
    block[0] = 1;
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
}

int main(int count, char **words) {
    (void)words;
    for (int i = 0; i < 64; i++) {
        keep();
        drop();
    }
    char byte;
    /* With an argument it waits for the end of its input. */
    return count > 1 ? read(0, &byte, 1) < 0 : 0;
}
