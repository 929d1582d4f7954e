/* Counts the interrupts from its terminal and ends after the third; the last one is left to do
 * what it does. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "burn.h"

static volatile sig_atomic_t interrupts;
BURNS(burn_until_interrupted)
static void on_continue(int signal) { (void)signal; write(1, "continued\n", 10); }
static void on_interrupt(int signal) { (void)signal; interrupts++; }

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    signal(SIGCONT, on_continue);
    for (int seen = 0; seen < 2; seen++) {
        printf("waiting for %d\n", seen + 1);
        while (interrupts <= seen) burn_until_interrupted(0.005);
    }
    signal(SIGINT, SIG_DFL);
    printf("waiting for the last\n");
    for (;;) burn_until_interrupted(0.005);
}
