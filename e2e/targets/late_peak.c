// A program whose memory is at its largest for a moment right before its end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    size_t before = 32 << 20, late = 48 << 20;
    char *block = malloc(before);
    if (!block) return 1;
    memset(block, 1, before);
    usleep(700000);
    char *last = malloc(late);
    if (!last) return 1;
    memset(last, 2, late);
    free(last);
    puts("done");
    return 0;
}
