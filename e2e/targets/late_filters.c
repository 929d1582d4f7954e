/* A program that restricts the system calls of one of its threads, or of all. The first argument says when: "thread"
 * and "all" at once, "later" at a line of input. The second one says which calls: without one, any but those that the
 * program makes. "service" forbids what systemd forbids with SystemCallFilter=@system-service, and "renderer" what
 * Chromium forbids to the processes that show pages. The third one says what comes of such a call: without one it
 * ends the program, "fails" has it fail, and "signals" sends SIGSYS, whose handler ends the program. Each line is answered. It ends with its input, and
 * exits with 7. */
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

/* What a program does that reads, writes, allocates and waits. */
static const int permitted[] = {
    SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_futex, SYS_munmap, SYS_rt_sigreturn, SYS_clock_nanosleep,
    SYS_nanosleep, SYS_newfstatat, SYS_fstat, SYS_rt_sigprocmask, SYS_madvise, SYS_sched_yield, SYS_restart_syscall,
};
/* What no service needs. */
static const int service[] = {
    SYS_ptrace, SYS_perf_event_open, SYS_lookup_dcookie, SYS_modify_ldt, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_acct, SYS_bpf,
    SYS_fanotify_init, SYS_open_by_handle_at, SYS_quotactl, SYS_setdomainname, SYS_sethostname, SYS_vhangup, SYS_iopl,
    SYS_ioperm, SYS_reboot, SYS_kexec_load, SYS_kexec_file_load, SYS_swapon, SYS_swapoff, SYS_pkey_mprotect, SYS_pkey_alloc,
    SYS_pkey_free, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_settimeofday, SYS_syslog, SYS_seccomp,
    438 /* pidfd_getfd */, 440 /* process_madvise */,
};
/* What a process does not get that runs what it has found in the net: no files, no processes, no timers but one. */
static const int renderer[] = {
    SYS_open, SYS_openat, SYS_creat, SYS_access, SYS_stat, SYS_lstat, SYS_readlink, SYS_unlink, SYS_rename, SYS_mkdir,
    SYS_fork, SYS_vfork, SYS_execve, SYS_execveat, SYS_wait4, SYS_kill, SYS_tkill, SYS_socket, SYS_connect, SYS_bind,
    SYS_listen, SYS_accept4, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_perf_event_open, SYS_timer_create,
    SYS_timer_settime, SYS_timer_delete, SYS_setitimer, SYS_memfd_create, SYS_sched_setaffinity, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_signalfd4, SYS_inotify_init1, SYS_fanotify_init, SYS_userfaultfd, SYS_bpf, SYS_membarrier,
    SYS_personality, SYS_setpriority, SYS_getpgid, SYS_setsid, SYS_mincore, SYS_kcmp, SYS_getdents64, SYS_ioctl,
    434 /* pidfd_open */, 436 /* close_range */,
};
static char **how;

static void on_forbidden(int signal) { _exit(signal); }

static void restrict_calls(int flags) {
    int is_service = how[0] && strcmp(how[0], "service") == 0, is_renderer = how[0] && strcmp(how[0], "renderer") == 0;
    const int *calls = is_service ? service : is_renderer ? renderer : permitted;
    int count = (is_service ? sizeof service : is_renderer ? sizeof renderer : sizeof permitted) / sizeof *calls;
    int refusal = SECCOMP_RET_KILL_PROCESS;
    if (how[0] && how[1]) refusal = strcmp(how[1], "fails") == 0 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_TRAP;
    struct sock_filter filter[100];
    filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++)
        filter[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], count - i, 0);
    int for_listed = calls == permitted ? SECCOMP_RET_ALLOW : refusal, for_others = calls == permitted ? refusal : SECCOMP_RET_ALLOW;
    filter[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, for_others);
    filter[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, for_listed);
    struct sock_fprog program = {count + 3, filter};
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
    how = words + 2;
    signal(SIGSYS, on_forbidden);
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
