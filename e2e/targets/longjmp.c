/* Jumps out of deep calls, and out of signal handlers, all the time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>
#include "burn.h"

static jmp_buf back;
static sigjmp_buf from_signal;
static volatile long jumps, ticks;

__attribute__((noinline)) static void descend(int n) {
    if (n <= 0) { spin(2000, 1); longjmp(back, 1); }
    descend(n - 1);
    __asm__ volatile("");
}
static void tick(int signal) { (void)signal; ticks++; siglongjmp(from_signal, 1); }

/* A coroutine, on a stack of its own. */
static ucontext_t main_context, coroutine_context;
static char coroutine_stack[65536];
BURNS(burn_in_coroutine)
static void coroutine(void) {
    for (;;) { burn_in_coroutine(0.001); swapcontext(&coroutine_context, &main_context); }
}

int main(void) {
    double end = thread_seconds() + 0.4;
    while (thread_seconds() < end) {
        if (setjmp(back) == 0) descend(jumps % 60);
        jumps++;
    }
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGVTALRM, &action, NULL);
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    volatile int rounds = 0;
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    sigsetjmp(from_signal, 1);
    if (rounds++ < 50) for (;;) spin(1000, 1);
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = coroutine_stack;
    coroutine_context.uc_stack.ss_size = sizeof coroutine_stack;
    makecontext(&coroutine_context, coroutine, 0);
    for (int i = 0; i < 300; i++) swapcontext(&main_context, &coroutine_context);
    printf("%s, %d rounds\n", jumps > 1000 ? "many jumps" : "few jumps", rounds - 1);
}
