/* Phases of work, each in a function of its own: first, second, third, fourth. The argument says how
 * the program ends: by itself, by abort, or with a code. With `waits` it waits at its end until the
 * file "go" is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "burn.h"

BURNS(first)
BURNS(second)
BURNS(third)
BURNS(fourth)

static void tell(const char *name) {
    FILE *file = fopen("writing", "w");
    if (!file) exit(3);
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    if (rename("writing", name) != 0) exit(3);
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    double each = count > 2 ? atof(words[2]) : 0.6;
    unsigned x = first(each) + second(each) + third(each) + fourth(each);
    if (!strcmp(how, "waits")) {
        tell("ready");
        while (access("go", F_OK) != 0) x += fourth(0.02);
    }
    printf("done %d\n", x != 0);
    fflush(stdout);
    if (!strcmp(how, "aborts")) abort();
    return !strcmp(how, "fails") ? 3 : 0;
}
