/* Writes its process number into a file, works, and ends as soon as a file named `enough` is there. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_and_burn)
static void on_term(int signal) { (void)signal; write(1, "terminated\n", 11); _exit(9); }

int main(int argc, char **argv) {
    if (argc > 1) signal(SIGTERM, on_term);
    FILE *file = fopen("pid.part", "w");
    fprintf(file, "%d\n", getpid());
    fclose(file);
    burn_and_burn(0.8);
    rename("pid.part", "pid");
    while (access("enough", F_OK)) burn_and_burn(0.01);
    burn_and_burn(0.2);
    puts("worked on");
    return 6;
}
