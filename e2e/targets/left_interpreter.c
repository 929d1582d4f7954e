/* A library that leaves an interpreter without its notice, as exceptions of C++ may, and goes on:
   what the interpreter had on the stack is overwritten, memory is allocated, and the process
   aborts. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf outside;

/* Called by the interpreter's code. */
void leave(void) { longjmp(outside, 1); }

__attribute__((noinline)) static void overwrite(int depth) {
    volatile unsigned long words[512];
    for (int i = 0; i < 512; i++) words[i] = 0x4000000000000000UL + depth;
    /* Here, the words of living calls stand where the interpreter's were. */
    for (int i = 0; i < 100; i++) free(malloc(100 + i));
    if (depth > 0) overwrite(depth - 1);
    words[0]++;
}

/* Calls into the interpreter, which calls `leave`. */
void enter(void (*call)(void)) {
    if (setjmp(outside) == 0) call();
    overwrite(20);
    abort();
}
