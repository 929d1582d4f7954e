/* Threads that block all signals when they are told to, and then wait or work, each in a way of its own.
 * Each says in the end whether the kernel's mask of it is whole, which no function of the C library shows. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_masked)
static volatile int is_blocking, is_over, blocked;
static int pipes[2], descriptor = -1;
static const char *texts[6];

/* By a system call of its own. */
static unsigned long raw_mask(void) {
    long number = 14;
    unsigned long mask = 0;
    register long bytes __asm__("r10") = 8;
    __asm__ volatile("syscall" : "+a"(number) : "D"(0L), "S"(0L), "d"(&mask), "r"(bytes) : "rcx", "r11", "memory");
    return mask;
}
/* The C library keeps two signals for itself, and the kernel two. */
static const char *is_whole(unsigned long mask) {
    unsigned long never = 1ul << 8 | 1ul << 18 | 1ul << 31 | 1ul << 32;
    return (mask | never) == ~0ul ? "whole" : "not whole";
}
static void *works(void *which) {
    long number = (long)which;
    while (!is_blocking) usleep(1000);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    burn_masked(0.05);
    __atomic_add_fetch(&blocked, 1, __ATOMIC_SEQ_CST);
    char byte;
    int got;
    switch (number) {
    case 0: if (read(pipes[0], &byte, 1) != 1) return 0; break;
    case 1: sigwait(&all, &got); break;
    case 2: {
        struct pollfd one = {.fd = pipes[0], .events = 0};
        sigfillset(&none);
        sigdelset(&none, SIGUSR2);
        while (!is_over) ppoll(&one, 1, &(struct timespec){20, 0}, &none);
        break;
    }
    case 3: while (!is_over) usleep(3000); break;
    case 4: while (!is_over) burn_masked(0.001); break;
    }
    texts[number] = is_whole(raw_mask());
    return 0;
}
static const char *descriptor_is_whole(void) {
    char path[64], text[512], *line;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    int file = open(path, O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    line = strstr(text, "sigmask:");
    return line ? is_whole(strtoul(line + 8, NULL, 16)) : "unknown";
}
static void wakes(int signal) { (void)signal; }

int main(void) {
    pthread_t threads[5];
    const char *names[] = {"reads", "sigwait", "ppoll", "sleeps", "works"};
    sigset_t all;
    sigfillset(&all);
    descriptor = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    struct sigaction action = {.sa_handler = wakes};
    sigaction(SIGUSR2, &action, NULL);
    if (pipe(pipes)) return 1;
    for (long i = 0; i < 5; i++) pthread_create(&threads[i], 0, works, (void *)i);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "block\n")) {
            is_blocking = 1;
            while (blocked < 5) usleep(1000);
            pthread_sigmask(SIG_SETMASK, &all, NULL);
            puts("blocked");
        } else {
            is_over = 1;
            if (write(pipes[1], "x", 1) != 1) return 1;
            pthread_kill(threads[1], SIGTERM);
            pthread_kill(threads[2], SIGUSR2);
            for (int i = 0; i < 5; i++) { pthread_join(threads[i], 0); printf("%s: %s\n", names[i], texts[i]); }
            printf("descriptor: %s\n", descriptor_is_whole());
            printf("main: %s\n", is_whole(raw_mask()));
            puts("shown");
        }
    }
    return 7;
}
