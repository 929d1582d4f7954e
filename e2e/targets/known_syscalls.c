/* Makes known numbers of system calls, of which some fail: in its first thread, in another one, and
 * in a child.
 *
 * usage: known_syscalls */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BAD = 30000, EMPTY = 2000, WORKS = 1000, ABSENT = 500, SEEKS = 400, CHILDS = 700 };

static int ends[2];

static void check(long result, int error) {
    if (error ? result != -1 || errno != error : result < 0)
        exit(1);
}

static void *seeks(void *unused) {
    for (int i = 0; i < SEEKS; i++)
        check(lseek(ends[0], 0, SEEK_CUR), ESPIPE);
    return unused;
}

int main(void) {
    char byte;
    pthread_t thread;
    check(pipe2(ends, O_NONBLOCK), 0);
    for (int i = 0; i < BAD; i++)
        check(close(-1), EBADF);
    for (int i = 0; i < EMPTY; i++)
        check(read(ends[0], &byte, 1), EAGAIN);
    for (int i = 0; i < WORKS; i++)
        check(syscall(SYS_getpgid, 0), 0);
    for (int i = 0; i < ABSENT; i++)
        check(open("/nowhere/at/all", O_RDONLY), ENOENT);
    if (pthread_create(&thread, NULL, seeks, NULL) || pthread_join(thread, NULL))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < CHILDS; i++)
            check(close(-2), EBADF);
        _exit(0);
    }
    int status;
    check(waitpid(child, &status, 0), 0);
    puts("done");
    return status;
}
