/* A library that is loaded later, and allocates. */
#include <stdlib.h>

long plugin(int blocks) {
    long bytes = 0;
    for (int i = 0; i < blocks; i++) {
        void *block = malloc(33 + i); // plugin
        bytes += 33 + i;
        free(block);
    }
    return bytes;
}
