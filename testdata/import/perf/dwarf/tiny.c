/* A program without a C library whose functions keep no frame pointers. Built with
   gcc -O2 -fomit-frame-pointer -fcf-protection=none -nostdlib -static-pie -Wl,--build-id,-z,noseparate-code */
static volatile unsigned long sum;

__attribute__((noinline)) static unsigned long work(unsigned long rounds) {
    unsigned long value = 1;
    for (unsigned long i = 0; i < rounds; i++)
        value = value * 33 + i;
    return value;
}

/* Its frame has a size that only the frame pointer knows. */
__attribute__((noinline)) static unsigned long sized(unsigned long size) {
    volatile char room[size];
    room[size - 1] = 1;
    return work(4000) + room[size - 1];
}

__attribute__((noinline)) static unsigned long even(unsigned depth);

__attribute__((noinline)) static unsigned long odd(unsigned depth) {
    unsigned long value = depth > 1 ? even(depth - 1) : sized(depth + 20);
    sum += value;
    return value + 3;
}

__attribute__((noinline)) static unsigned long even(unsigned depth) {
    volatile unsigned long room[6];
    room[depth % 6] = depth;
    unsigned long value = depth > 0 ? odd(depth - 1) : work(3000);
    sum += value + room[depth % 6];
    return value + 5;
}

__attribute__((used)) static int run(void) {
    for (unsigned i = 0; i < 6000; i++)
        even(i % 40 < 38 ? i % 9 : 60);
    return 0;
}

__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "xorl %ebp, %ebp\n"
        "andq $-16, %rsp\n"
        "call run\n"
        "movl %eax, %edi\n"
        "movl $231, %eax\n"
        "syscall\n"
        ".cfi_endproc\n"
        ".size _start, .-_start\n");
