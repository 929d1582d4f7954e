/* Ends in the way that its argument says, in the middle of its work and with other threads at
 * work. What was printed before a hard end is lost, with and without a profiler. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_in_main)
BURNS(burn_in_thread)

static void *forever(void *nothing) {
    for (;;) burn_in_thread(0.01);
    return nothing;
}
static void *ends_all(void *nothing) {
    burn_in_thread(0.1);
    exit(11);
    return nothing;
}
static void at_exit(void) { puts("at exit"); burn_in_main(0.02); }
static void at_quick_exit_(void) { write(1, "at quick exit\n", 14); }
static void on_abort(int signal) { (void)signal; write(1, "aborting\n", 9); }

int main(int argc, char **argv) {
    const char *how = argv[1];
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    atexit(at_exit);
    at_quick_exit(at_quick_exit_);
    pthread_t thread;
    for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, forever, NULL);
    write(1, "begun\n", 6);
    printf("in the buffer\n");
    burn_in_main(0.3);
    if (!strcmp(how, "return")) return 3;
    if (!strcmp(how, "exit")) exit(4);
    if (!strcmp(how, "_exit")) _exit(5);
    if (!strcmp(how, "_Exit")) _Exit(6);
    if (!strcmp(how, "quick_exit")) quick_exit(7);
    if (!strcmp(how, "abort")) { signal(SIGABRT, on_abort); abort(); }
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "term")) raise(SIGTERM);
    if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
    if (!strcmp(how, "stack")) { char *deep = alloca(1 << 30); deep[0] = 1; printf("%d", deep[0]); }
    if (!strcmp(how, "fpe")) __asm__ volatile("xor %%ecx, %%ecx; idiv %%ecx" ::: "eax", "ecx", "edx");
    if (!strcmp(how, "trap")) __builtin_trap();
    if (!strcmp(how, "breakpoint")) __asm__ volatile("int3");
    if (!strcmp(how, "urg-default")) { signal(SIGURG, SIG_DFL); raise(SIGURG); return 8; }
    if (!strcmp(how, "thread")) { pthread_create(&thread, NULL, ends_all, NULL); pthread_exit(NULL); }
    return 99;
}
