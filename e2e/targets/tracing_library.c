/* A library that traces the calls of a program, and the program (with -DPROGRAM). */
#include <stdio.h>

#ifdef PROGRAM
extern long entered, left;
static volatile long sink;
__attribute__((noinline)) void leaf(void) { sink = sink + 1; }
__attribute__((no_instrument_function))
int main(void) {
    for (int i = 0; i < 1000; i++) leaf();
    printf("%ld %ld\n", entered, left);
    return entered == 1000 && left == 1000 ? 0 : 1;
}
#else
long entered, left;
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *site) {
    if (function && site) entered++;
}
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *site) {
    if (function && site) left++;
}
#endif
