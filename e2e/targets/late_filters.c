/* A program that restricts the system calls of one of its threads, or of all, so that any other call ends it. The
 * argument says when: "thread" and "all" at once, "later" at a line of input. Each line is answered. It ends with
 * its input, and exits with 7. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int over, ready;
static volatile unsigned long sum;

/* Permits what a program does that reads, writes, allocates and waits. */
static void restrict_calls(int flags) {
    static const int permitted[] = {
        SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_futex, SYS_munmap, SYS_rt_sigreturn, SYS_clock_nanosleep,
        SYS_nanosleep, SYS_newfstatat, SYS_fstat, SYS_rt_sigprocmask, SYS_madvise, SYS_sched_yield, SYS_restart_syscall,
    };
    enum { COUNT = sizeof permitted / sizeof *permitted };
    struct sock_filter filter[COUNT + 3];
    filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++)
        filter[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permitted[i], COUNT - i, 0);
    filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {COUNT + 3, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)) exit(1);
}

static void *works(void *restricts) {
    /* The allocator maps memory for each thread. */
    free(malloc(100));
    if (restricts) restrict_calls(0);
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (!over) {
        for (int i = 0; i < 100000; i++) sum += i;
        free(malloc(100));
        usleep(100);
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 2) return 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, works, i && strcmp(words[1], "thread") == 0 ? words[1] : 0);
    while (ready < 2) usleep(1000);
    if (strcmp(words[1], "all") == 0) restrict_calls(SECCOMP_FILTER_FLAG_TSYNC);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "restrict\n") == 0) restrict_calls(SECCOMP_FILTER_FLAG_TSYNC);
        for (int i = 0; i < 1000; i++) free(malloc(100 + i));
        puts("done");
    }
    over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 7;
}
