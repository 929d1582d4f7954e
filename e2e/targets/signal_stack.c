/* Handlers on a stack of their own: one that works for long, and one that mends an overflow of
 * the real stack. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "burn.h"

static sigjmp_buf mended;
static volatile int handled, on_stack;
static char *stack;
#define SIZE 32768

BURNS(burn_on_signal_stack)
static void works(int signal) {
    char here;
    (void)signal;
    burn_on_signal_stack(0.01);
    on_stack += &here >= stack && &here < stack + SIZE;
    handled++;
}
static void overflow(int signal) { (void)signal; siglongjmp(mended, 1); }
__attribute__((noinline)) static int endless(int n) {
    volatile char room[512];
    room[0] = (char)n;
    return endless(n + 1) + room[0];
}

int main(void) {
    stack = malloc(SIZE);
    stack_t on = {.ss_sp = stack, .ss_size = SIZE}, now;
    sigaltstack(&on, NULL);
    struct sigaction action = {.sa_handler = works, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = overflow;
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 50; i++) raise(SIGUSR1);
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_STACK, &limit);
    volatile int overflows = 0;
    if (sigsetjmp(mended, 1)) overflows++;
    if (overflows < 20) endless(0);
    sigaltstack(NULL, &now);
    printf("%d handled, %d there, %d overflows, flags %d\n", handled, on_stack, overflows, now.ss_flags);
}
