/* Functions that report their calls, in places where that is hard. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SILENT __attribute__((no_instrument_function, noinline))
#define OWN __attribute__((noinline))

static volatile long sink;

OWN void work(void) { sink = sink + 1; }
OWN void tick(void) { sink = sink + 1; }
OWN void inner(void) { work(); }
OWN void middle(void) { inner(); }
OWN void outer(void) { middle(); }

SILENT static void on_thread(void *(*function)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, function, NULL);
    pthread_join(thread, NULL);
}

/* A handler has 8 KB of stack, or what the kernel needs and a little, and below that is nothing. Its thread has made no call yet. */
SILENT static void on_small(int signal) {
    (void)signal;
    outer();
}

SILENT static void *small(void *unused) {
    size_t size = 8192, page = 4096, least = getauxval(AT_MINSIGSTKSZ) + 4096;
    while (size < least) size += page;
    char *place = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(place, page, PROT_NONE);
    stack_t stack = {.ss_sp = place + page, .ss_size = size};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_small, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return unused;
}

/* A handler that comes while a call is being counted ends the process. */
SILENT static void on_alarm(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    static int times;
    void *here = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    Dl_info in;
    if (dladdr(here, &in) && in.dli_fname && strstr(in.dli_fname, "profundo-agent")) _exit(5);
    if (++times == 20000) _exit(6);
}

OWN void exits(void) {
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &every, NULL);
    for (;;) tick();
}

OWN void dies(void) { kill(getpid(), SIGKILL); }
OWN void *lives(void *unused) { return unused; }
SILENT static void *dies_there(void *unused) {
    dies();
    return unused;
}

OWN void cannot_execute(void) { execl("/there is no such program", "it", NULL); }

static volatile int is_over, has_begun;
static long ticks;
SILENT static void *spins(void *unused) {
    while (!is_over) {
        tick();
        ticks++;
        has_begun = 1;
    }
    return unused;
}

OWN void restricted(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {5, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    for (int i = 0; i < 1000; i++) tick();
    _exit(8);
}

/* There the processor's clock must not be read, and the C library's own end is not permitted. */
OWN void strict(void) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (int i = 0; i < 1000; i++) tick();
    syscall(SYS_exit, 9);
}

SILENT int main(int count, char **arguments) {
    const char *what = arguments[1];
    if (!strcmp(what, "small")) {
        on_thread(small);
    } else if (!strcmp(what, "exits")) {
        exits();
    } else if (!strcmp(what, "reused")) {
        on_thread(lives);
        on_thread(dies_there);
    } else if (!strcmp(what, "goes on")) {
        cannot_execute();
        dies();
    } else if (!strcmp(what, "meanwhile")) {
        pthread_t thread;
        pthread_create(&thread, NULL, spins, NULL);
        while (!has_begun) usleep(100);
        for (int i = 0; i < 300; i++) cannot_execute();
        is_over = 1;
        pthread_join(thread, NULL);
        printf("%ld\n", ticks);
    } else if (!strcmp(what, "restricted")) {
        restricted();
    } else if (!strcmp(what, "strict")) {
        strict();
    } else if (!strcmp(what, "many")) {
        for (int i = 0; i < 2000000; i++) tick();
        struct rusage used;
        getrusage(RUSAGE_SELF, &used);
        printf("%ld\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    }
    (void)count;
    return 0;
}
