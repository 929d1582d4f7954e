/* A daemon: forks twice, leaves the session, closes everything, works on after its parent has
 * ended, and makes a file when it is done. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_in_parent)
BURNS(burn_in_daemon)

int main(void) {
    burn_in_parent(0.2);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork()) _exit(0);
        for (int fd = 0; fd < 1024; fd++) close(fd);
        burn_in_daemon(1.0);
        FILE *file = fopen("daemon.done", "w");
        fprintf(file, "%d\n", getpid());
        fclose(file);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    puts("the daemon has begun");
    return 4;
}
