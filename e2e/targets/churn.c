/* A program that takes a known number of blocks of 1000 to 1999 bytes, of which a thousand are there at a time.
 *
 * usage: churn BLOCKS */
#include <stdlib.h>
#include <string.h>

static char *kept[1000];

int main(int count, char **words) {
    unsigned long blocks = count > 1 ? strtoul(words[1], NULL, 10) : 0;
    for (unsigned long at = 0; at < blocks; at++) {
        char *block = malloc(1000 + at % 1000);
        if (!block)
            return 1;
        memset(block, 1, 10);
        free(kept[at % 1000]);
        kept[at % 1000] = block;
    }
    return 0;
}
