//! Signals, SIGURG above all, are the program's.

use crate::program;
use crate::recorder::{NO_SAMPLES, Options, SAMPLING, compare};

const FAST: Options = Options {
    period: 100_000,
    ..SAMPLING
};

#[test]
fn the_programs_own_handler_gets_its_signals_and_no_others() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <setjmp.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/wait.h>
        #include <time.h>
        #include <unistd.h>
        static volatile int count, value, blocked, usr1;
        static sigjmp_buf back;
        static jmp_buf plain;
        static void simple(int s) { count++; }
        static void info(int s, siginfo_t *i, void *c) {
            sigset_t now;
            sigprocmask(SIG_BLOCK, 0, &now);
            blocked = sigismember(&now, SIGURG) * 4 + sigismember(&now, SIGUSR1) * 2 + sigismember(&now, SIGUSR2);
            count++;
            value = i->si_value.sival_int;
        }
        static void jumps(int s) { siglongjmp(back, 1); }
        static void burn(int ms) {
            struct timespec a, b;
            clock_gettime(CLOCK_MONOTONIC, &a);
            do clock_gettime(CLOCK_MONOTONIC, &b);
            while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
        }
        static void show(const char *what) {
            struct sigaction now;
            sigaction(SIGURG, 0, &now);
            printf("%s: %d %s %x %d\n", what, count,
                   now.sa_handler == SIG_DFL ? "default" : now.sa_handler == SIG_IGN ? "ignored" : "own",
                   now.sa_flags, sigismember(&now.sa_mask, SIGUSR1));
        }
        int main(int argc, char **argv) {
            show(argv[0][0] == 'n' ? "next" : "first");
            if (argv[0][0] == 'n') return 0;
            burn(20);
            printf("%d\n", signal(SIGURG, simple) == SIG_DFL);
            show("signal");
            raise(SIGURG); kill(getpid(), SIGURG); burn(20);
            show("raised");
            struct sigaction new = {0}, old;
            new.sa_sigaction = info;
            new.sa_flags = SA_SIGINFO;
            sigaddset(&new.sa_mask, SIGUSR1);
            sigaction(SIGURG, &new, &old);
            printf("%d\n", old.sa_handler == simple);
            union sigval v = {.sival_int = 77};
            sigqueue(getpid(), SIGURG, v);
            burn(20);
            printf("%d %d\n", value, blocked);
            show("info");
            new.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
            sigaction(SIGURG, &new, 0);
            raise(SIGURG);
            printf("%d\n", blocked);
            show("once");
            raise(SIGURG);
            signal(SIGURG, jumps);
            for (int i = 0; i < 100; i++) { if (!sigsetjmp(back, 1)) raise(SIGURG); burn(1); }
            sigset_t mask;
            sigprocmask(SIG_BLOCK, 0, &mask);
            printf("%d %d\n", sigismember(&mask, SIGURG), sigismember(&mask, SIGTERM));
            /* Without SA_RESTART a sleeping read is interrupted, with it not. */
            for (int restart = 0; restart < 2; restart++) {
                int ends[2];
                char c;
                pipe(ends);
                new.sa_handler = simple;
                new.sa_flags = restart ? SA_RESTART : 0;
                sigaction(SIGURG, &new, 0);
                pid_t child = fork();
                if (!child) {
                    usleep(30000); kill(getppid(), SIGURG);
                    usleep(30000); write(ends[1], "x", 1); _exit(0);
                }
                errno = 0;
                int got = read(ends[0], &c, 1);
                printf("%d %d\n", got, got < 0 ? errno == EINTR : 0);
                waitpid(child, 0, 0);
            }
            printf("%d\n", signal(SIGURG, SIG_IGN) == simple);
            raise(SIGURG); burn(20);
            show("ignored");
            /* What is ignored is ignored in the next program too, and afterwards here. */
            fflush(stdout);
            if (!fork()) {
                execl("/does/not/exist", "x", (char *)0);
                show("still");
                fflush(stdout);
                execl("/proc/self/exe", "next", (char *)0);
            }
            wait(0);
            printf("%d\n", signal(SIGURG, SIG_DFL) == SIG_IGN);
            show("last");
            return 0;
        }"#;
    for options in [NO_SAMPLES, FAST] {
        let mut command = program!("own_handler", source);
        let run = compare(options, &mut command);
        if options.period != 0 {
            assert!(run.first().samples > 100, "{:?}", run.first());
        }
    }
}

#[test]
fn a_wait_for_all_signals_does_not_get_ours() {
    let source = r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <poll.h>
        #include <pthread.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/select.h>
        #include <sys/signalfd.h>
        #include <time.h>
        #include <unistd.h>
        static void burn(int ms) {
            struct timespec t, b;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
            do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            while ((t.tv_sec - b.tv_sec) * 1000 + (t.tv_nsec - b.tv_nsec) / 1000000 < ms);
        }
        static void *sender(void *arg) {
            for (int i = 0; i < 5; i++) { usleep(10000); kill(getpid(), SIGUSR1); }
            usleep(10000);
            kill(getpid(), SIGURG);
            return 0;
        }
        int main(void) {
            sigset_t all, none, some;
            sigfillset(&all);
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &all, 0);
            int file = signalfd(-1, &all, SFD_NONBLOCK);
            struct timespec zero = {0, 0}, little = {0, 30000000};
            for (int i = 0; i < 20; i++) {
                burn(5);
                /* A tick of ours waits now. */
                siginfo_t info;
                struct signalfd_siginfo read_info;
                if (read(file, &read_info, sizeof read_info) != -1 || errno != EAGAIN) puts("signalfd");
                if (sigtimedwait(&all, &info, &zero) != -1 || errno != EAGAIN) puts("sigtimedwait");
                burn(3);
                if (sigtimedwait(&all, 0, &little) != -1 || errno != EAGAIN) puts("sigtimedwait");
                burn(3);
                errno = 0;
                if (ppoll(0, 0, &little, &none) != 0) printf("ppoll %d\n", errno);
                burn(3);
                if (pselect(0, 0, 0, 0, &little, &none) != 0) printf("pselect %d\n", errno);
            }
            pthread_t thread;
            pthread_create(&thread, 0, sender, 0);
            for (int i = 0; i < 6; i++) {
                int signal = 0, result;
                burn(2);
                result = sigwait(&all, &signal);
                printf("%d %d\n", result, signal);
            }
            pthread_join(thread, 0);
            puts("end");
            return 0;
        }"#;
    let mut command = program!("waits", source);
    compare(FAST, &mut command);
}

#[test]
fn calls_do_not_fail_for_our_signals() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <poll.h>
        #include <stdio.h>
        #include <time.h>
        #include <unistd.h>
        int main(void) {
            int failed = 0;
            struct timespec t = {0, 100000};
            for (int i = 0; i < 3000; i++) {
                for (volatile int k = 0; k < 100000; k++);
                failed += poll(0, 0, 0) < 0;
                failed += nanosleep(&t, 0) < 0;
                failed += poll(0, 0, 1) < 0;
            }
            printf("%d\n", failed);
            return 0;
        }"#;
    let mut command = program!("calls", source);
    let run = compare(FAST, &mut command);
    // The program sleeps so often that it is sampled at the kernel's ticks.
    assert!(run.first().samples > 40, "{}", run.first().samples);
}

#[test]
fn other_handlers_and_small_signal_stacks_are_no_hindrance() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <sys/time.h>
        #include <unistd.h>
        static volatile long ticks, faults, traps;
        static char *page;
        static void on_prof(int s) { ticks++; }
        static void on_segv(int s, siginfo_t *i, void *c) {
            faults++;
            mprotect(page, 4096, PROT_READ | PROT_WRITE);
        }
        static void on_trap(int s) { traps++; }
        static void *with_stack(void *arg) {
            stack_t stack = {.ss_sp = malloc(MINSIGSTKSZ + 8192), .ss_size = MINSIGSTKSZ + 8192};
            sigaltstack(&stack, 0);
            volatile long x = 0;
            for (long i = 0; i < 100000000; i++) x += i;
            return 0;
        }
        int main(void) {
            struct sigaction a = {0};
            a.sa_handler = on_prof; a.sa_flags = SA_RESTART | SA_ONSTACK; sigaction(SIGPROF, &a, 0);
            a.sa_handler = on_trap; sigaction(SIGTRAP, &a, 0);
            a.sa_sigaction = on_segv; a.sa_flags = SA_SIGINFO | SA_ONSTACK; sigaction(SIGSEGV, &a, 0);
            struct itimerval every = {{0, 1000}, {0, 1000}};
            setitimer(ITIMER_PROF, &every, 0);
            page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            pthread_t threads[3];
            for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, with_stack, 0);
            for (int i = 0; i < 1000; i++) { mprotect(page, 4096, PROT_NONE); page[0] = 1; raise(SIGTRAP); }
            for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
            printf("%d %ld %ld\n", ticks > 3, faults, traps);
            return 0;
        }"#;
    let mut command = program!("others", source);
    let run = compare(FAST, &mut command);
    assert!(run.first().samples > 100, "{}", run.first().samples);
}

#[test]
fn a_program_that_restricts_itself_is_not_killed_for_our_calls() {
    let source = r#"
        #define _GNU_SOURCE
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <pthread.h>
        #include <stddef.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static void burn(long n) { volatile long x = 0; for (long i = 0; i < n; i++) x += i; }
        int main(int argc, char **argv) {
            burn(50000000);
            if (!strcmp(argv[1], "strict")) {
                if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 1;
            } else {
                struct sock_filter filter[] = {
                    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                };
                struct sock_fprog program = {5, filter};
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) return 1;
            }
            burn(100000000);
            write(1, "restricted\n", 11);
            __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(7));
            return 0;
        }"#;
    for how in ["strict", "filter"] {
        for options in [
            NO_SAMPLES,
            FAST,
            Options {
                timers: true,
                ..FAST
            },
        ] {
            let mut command = program!("restricted", source);
            let run = compare(options, command.arg(how));
            assert_eq!(run.output.status.code(), Some(7), "{how}");
        }
    }
}
