/* Code that the program makes asks for blocks. It is replaced in its place again and again: by code that has another
 * frame, at the same return address and on the same stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* push rbp; mov rbp, rsp; call rdi; nop; pop rbp; ret */
static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x90, 0x5d, 0xc3};
/* push rbp; nop; nop; nop; call rdi; pop rbp; ret: what it does next says where its caller is */
static const unsigned char without[] = {0x55, 0x90, 0x90, 0x90, 0xff, 0xd7, 0x5d, 0xc3, 0x90};

enum { ROUNDS = 6, BLOCKS = 20000 };

static void *volatile kept;

__attribute__((noinline)) static void block(void) {
    void *own = malloc(48); // block
    kept = own;
    free(own);
}

__attribute__((noinline)) static void through(void (*code)(void (*)(void))) {
    code(block);
    __asm__ volatile("" ::: "memory");
}

int main(void) {
    unsigned char *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return 1;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(place, round % 2 ? without : with_frame, sizeof with_frame);
        for (int number = 0; number < BLOCKS; number++) through((void (*)(void (*)(void)))place);
    }
    puts("done");
    return 0;
}
