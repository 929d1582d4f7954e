/* Three functions that take six, three and one parts of the time. Built in every way that an
 * executable can be: plain, stripped, static, static-pie, setuid. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "burn.h"

BURNS(six_parts)
BURNS(three_parts)
BURNS(one_part)

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 1.0;
    for (int i = 0; i < 20; i++) {
        six_parts(seconds * 0.03);
        three_parts(seconds * 0.015);
        one_part(seconds * 0.005);
    }
    printf("hot: users %d %d, %s LD_PRELOAD\n", getuid() == 0, geteuid() == getuid(),
           getenv("LD_PRELOAD") ? "with" : "without");
    return 7;
}
