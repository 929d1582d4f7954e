/* Keeps a block, and loses others: some alone, and a list. */
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char text[200];
};

static void *kept;

__attribute__((noinline)) static void lose_blocks(void) {
    for (int i = 0; i < 30; i++) {
        char *block = malloc(1000);
        memset(block, 'x', 1000);
    }
}

__attribute__((noinline)) static void lose_list(void) {
    struct node *list = NULL;
    for (int i = 0; i < 20; i++) {
        struct node *node = calloc(1, sizeof *node);
        node->next = list;
        list = node;
    }
}

/* Pointers that were left on the stack would hide what is lost. */
__attribute__((noinline)) static void wipe(void) {
    volatile char below[16 << 10];
    memset((void *)below, 0, sizeof below);
}

int main(void) {
    kept = malloc(5000);
    lose_blocks();
    lose_list();
    wipe();
    return 0;
}
