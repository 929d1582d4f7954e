/* The program permits itself hardly any call of the kernel's, in one of both ways, and works on. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "burn.h"

BURNS(burn_free)
static volatile int calls;
static void handler(int signal) { (void)signal; calls++; }
/* A restriction that permits everything: the program goes on and handles signals itself. */
static int permits_all(struct sock_filter *last) {
    struct sock_fprog program = {1, last};
    int signals[] = {SIGTRAP, SIGURG, SIGSTKFLT};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    for (int i = 0; i < 3; i++) signal(signals[i], handler);
    spin(300000000, 1);
    printf("%d calls\n", calls);
    for (int i = 0; i < 3; i++) printf("%d\n", signal(signals[i], SIG_DFL) == handler);
    return 7;
}

int main(int argc, char **argv) {
    (void)argc;
    burn_free(0.2);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {6, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!strcmp(argv[1], "all")) return permits_all(filter + 5);
    if (!strcmp(argv[1], "strict")) { if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 1; }
    else if (!strcmp(argv[1], "prctl")) { if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1; }
    else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) return 1;
    /* Its own clock would be a call. */
    spin(300000000, 1);
    write(1, "restricted\n", 11);
    if (!strcmp(argv[1], "_exit")) _exit(8);
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(7));
}
