/* Says how much address space it has taken, in kilobytes: all, and what maps files of unwind tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "burn.h"

BURNS(burn_in_room)

int main(void) {
    char line[4096];
    unsigned long first, last, all = 0, tables = 0;
    burn_in_room(0.1);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &first, &last) != 2 || strstr(line, "[vsyscall]")) continue;
        all += (last - first) / 1024;
        if (strstr(line, "/tables")) tables += (last - first) / 1024;
    }
    printf("%lu %lu\n", all, tables);
    return 0;
}
