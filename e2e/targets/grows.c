/* A program that keeps a MiB more every tenth of a second, and says when it has begun.
 *
 * usage: grows MIBS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    puts("begun");
    fflush(stdout);
    for (int left = count > 1 ? atoi(words[1]) : 0; left > 0; left--) {
        char *kept = malloc(1 << 20);
        if (!kept)
            return 1;
        memset(kept, left, 1 << 20);
        usleep(100000);
    }
    return 0;
}
