/* Forks children while the recorder does not run, so that most of them get no room to record in. Files take the
 * recorder's place: "ready" says that it may be stopped, "go" that it is, and "done" that it may go on. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_in_child)

static void say(const char *name) {
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", getpid());
    fclose(file);
}

int main(void) {
    int status = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    say("ready");
    while (access("go", F_OK)) usleep(1000);
    for (int child = 0; child < 40; child++)
        if (fork() == 0) {
            burn_in_child(0.2);
            _exit(0);
        }
    say("done");
    for (int child = 0; child < 40; child++) {
        wait(&status);
        if (status) abort();
    }
    puts("forty");
    return 0;
}
