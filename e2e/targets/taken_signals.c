/* Which signals wait for a thread that blocks two of them by an instruction of its own and works: the lines
 * on that differ with a profiler. Where it asks the C library to block them, none waits. Then the program handles one of both itself, and gets each that is sent, and no other. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_blocked)
BURNS(burn_before)
BURNS(burn_after)
static volatile int calls;
static void own(int signal) { (void)signal; calls++; }

/* By a system call of its own, which no function of the C library sees. */
static void raw_mask(int how, unsigned long set) {
    long number = 14;
    register long bytes __asm__("r10") = 8;
    __asm__ volatile("syscall" : "+a"(number) : "D"((long)how), "S"(&set), "d"(0L), "r"(bytes)
                     : "rcx", "r11", "memory");
}

/* As the kernel reports it: the C library may hide a signal. */
static unsigned long waiting(void) {
    char text[4096], *line;
    int file = open("/proc/thread-self/status", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    line = strstr(text, "SigPnd:");
    return line ? strtoul(line + 7, NULL, 16) : 0;
}
static void print_pending(const char *when) {
    unsigned long seen = 0, both = 1ul << (SIGTRAP - 1) | 1ul << (SIGURG - 1);
    raw_mask(SIG_BLOCK, both);
    for (int i = 0; i < 60 && !(seen >> (SIGTRAP - 1) & 1); i++) { burn_blocked(0.005); seen |= waiting(); }
    raw_mask(SIG_UNBLOCK, both);
    printf("%s waits:%s%s%s\n", when, seen >> (SIGTRAP - 1) & 1 ? " SIGTRAP" : "",
           seen >> (SIGURG - 1) & 1 ? " SIGURG" : "", seen ? "" : " nothing");
}
static void print_pending_by_name(void) {
    sigset_t both;
    unsigned long seen = 0;
    sigemptyset(&both);
    sigaddset(&both, SIGTRAP);
    sigaddset(&both, SIGURG);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    for (int i = 0; i < 30; i++) { burn_blocked(0.005); seen |= waiting(); }
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    printf("by name: %lx\n", seen);
}
/* A thread gets its clock when it has run for a while. */
static void *thread_work(void *nothing) { burn_after(0.1); print_pending("thread"); burn_after(0.1); return nothing; }

int main(void) {
    pthread_t thread;
    burn_before(0.3);
    print_pending("at first");
    pthread_create(&thread, NULL, thread_work, NULL);
    pthread_join(thread, NULL);
    struct sigaction action = {.sa_handler = own, .sa_flags = SA_RESTART}, old;
    sigaction(SIGTRAP, &action, &old);
    printf("was %s\n", old.sa_handler == SIG_DFL ? "default" : "something else");
    print_pending("handled");
    pthread_create(&thread, NULL, thread_work, NULL);
    pthread_join(thread, NULL);
    burn_after(0.3);
    print_pending_by_name();
    printf("%d calls\n", calls);
    for (int i = 0; i < 50; i++) { raise(SIGTRAP); burn_after(0.001); }
    for (int i = 0; i < 50; i++) __asm__ volatile("int3");
    printf("%d calls\n", calls);
}
