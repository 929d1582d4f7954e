//! Threads: each is entered, and its end is reported however it comes.

use crate::program;
use crate::recorder::{NO_SAMPLES, Options, SAMPLING, compare};

#[test]
fn ends_of_every_kind_are_reported() {
    let source = r#"
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <threads.h>
        #include <time.h>
        #include <unistd.h>
        static void burn(int ms) {
            struct timespec t;
            do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
        }
        static pthread_key_t key;
        static void cleaned(void *arg) { printf("cleaned %s\n", (char *)arg); }
        static void *returns(void *arg) {
            pthread_setname_np(pthread_self(), "returns");
            pthread_setspecific(key, "key");
            burn(20);
            return arg;
        }
        static void *leaves(void *arg) {
            pthread_setname_np(pthread_self(), "leaves");
            pthread_cleanup_push(cleaned, "leaves");
            pthread_exit(arg);
            pthread_cleanup_pop(0);
        }
        static void *cancelled(void *arg) {
            pthread_setname_np(pthread_self(), "cancelled");
            pthread_cleanup_push(cleaned, "cancelled");
            for (;;) sleep(100);
            pthread_cleanup_pop(0);
        }
        static int c11(void *arg) { pthread_setname_np(pthread_self(), "c11"); return 11; }
        int main(void) {
            pthread_t thread;
            void *result;
            pthread_key_create(&key, cleaned);
            pthread_create(&thread, 0, returns, (void *)1); pthread_join(thread, &result);
            printf("%ld\n", (long)result);
            pthread_create(&thread, 0, leaves, (void *)2); pthread_join(thread, &result);
            printf("%ld\n", (long)result);
            pthread_create(&thread, 0, cancelled, 0);
            usleep(20000);
            pthread_cancel(thread);
            pthread_join(thread, &result);
            printf("%d\n", result == PTHREAD_CANCELED);
            thrd_t other;
            int code;
            thrd_create(&other, c11, 0);
            thrd_join(other, &code);
            printf("%d\n", code);
            pthread_attr_t attr;
            pthread_attr_init(&attr);
            pthread_attr_setstacksize(&attr, 16384);
            int small = pthread_create(&thread, &attr, leaves, (void *)3);
            pthread_join(thread, 0);
            printf("%d\n", small);
            pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
            pthread_create(&thread, &attr, leaves, 0);
            usleep(20000);
            pthread_attr_setstacksize(&attr, 1L << 46);
            printf("%d\n", pthread_create(&thread, &attr, leaves, 0));
            fflush(stdout);
            pthread_exit(0);
        }"#;
    for options in [NO_SAMPLES, SAMPLING] {
        let options = Options {
            reuse: false,
            ..options
        };
        let mut command = program!("ends", source);
        let run = compare(options, &mut command);
        let first = run.first();
        let mut names: Vec<&str> = first
            .threads
            .values()
            .filter(|(_, _, cpu)| cpu.is_some())
            .map(|(_, name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "c11",
                "cancelled",
                "ends",
                "leaves",
                "leaves",
                "leaves",
                "returns"
            ]
        );
        let cpu = first
            .threads
            .values()
            .find(|(_, name, _)| name == "returns");
        let cpu = cpu.unwrap().2.unwrap();
        assert!((20_000_000..400_000_000).contains(&cpu), "{cpu}");
    }
}

#[test]
fn ten_thousand_short_threads() {
    let source = r#"
        #include <pthread.h>
        #include <stdio.h>
        static void *work(void *arg) { volatile long x = 0; for (int i = 0; i < 1000; i++) x += i; return arg; }
        int main(void) {
            long sum = 0;
            for (int round = 0; round < 1000; round++) {
                pthread_t threads[10];
                for (long i = 0; i < 10; i++) if (pthread_create(&threads[i], 0, work, (void *)i)) puts("no");
                for (int i = 0; i < 10; i++) { void *r; pthread_join(threads[i], &r); sum += (long)r; }
            }
            printf("%ld\n", sum);
            return 0;
        }"#;
    for options in [NO_SAMPLES, SAMPLING] {
        let mut command = program!("short", source);
        let run = compare(options, &mut command);
        // Far more than there are records: they are used again, under new numbers. A thread that
        // begins and ends between two looks is seen at its end.
        assert_eq!(run.first().threads.len(), 10_001);
        // Records that are not read are not used again: the rest of the threads have none.
        let mut command = program!("short", source);
        let run = compare(
            Options {
                reuse: false,
                ..options
            },
            &mut command,
        );
        assert_eq!(run.first().threads.len(), 4096);
    }
}

#[test]
fn a_thousand_threads_at_once() {
    let source = r#"
        #include <pthread.h>
        #include <stdio.h>
        static pthread_barrier_t barrier;
        static void *work(void *arg) { pthread_barrier_wait(&barrier); return arg; }
        int main(void) {
            static pthread_t threads[1000];
            pthread_attr_t attr;
            pthread_attr_init(&attr);
            pthread_attr_setstacksize(&attr, 65536);
            pthread_barrier_init(&barrier, 0, 1001);
            for (long i = 0; i < 1000; i++) if (pthread_create(&threads[i], &attr, work, (void *)i)) puts("no");
            pthread_barrier_wait(&barrier);
            for (int i = 0; i < 1000; i++) pthread_join(threads[i], 0);
            puts("all");
            return 0;
        }"#;
    let mut command = program!("thousand", source);
    let run = compare(SAMPLING, &mut command);
    assert_eq!(run.first().threads.len(), 1001);
}

#[test]
fn exceptions_and_jumps_go_their_way() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #include <exception>
        #include <cstdio>
        #include <csetjmp>
        #include <csignal>
        #include <stdexcept>
        #include <pthread.h>
        #include <thread>
        #include <unistd.h>
        struct Witness { const char *name; ~Witness() { std::printf("~%s\n", name); } };
        static int deep(int n) {
            Witness w{n == 3 ? "deep" : ""};
            if (!n) throw std::runtime_error("thrown");
            return deep(n - 1) + 1;
        }
        static void *cancelled(void *) {
            Witness w{"cancelled"};
            for (;;) sleep(100);
        }
        static void *leaves(void *) { Witness w{"leaves"}; pthread_exit(nullptr); }
        int main() {
            std::thread([] { try { deep(3); } catch (std::exception &e) { std::puts(e.what()); } }).join();
            pthread_t thread;
            pthread_create(&thread, nullptr, cancelled, nullptr);
            usleep(10000);
            pthread_cancel(thread);
            pthread_join(thread, nullptr);
            pthread_create(&thread, nullptr, leaves, nullptr);
            pthread_join(thread, nullptr);
            std::jmp_buf buffer;
            volatile long jumps = 0;
            if (setjmp(buffer) < 100000) { jumps = jumps + 1; std::longjmp(buffer, jumps); }
            long caught = 0;
            for (int i = 0; i < 20000; i++) try { deep(2); } catch (std::exception &) { caught++; }
            std::fprintf(stderr, "%ld %ld\n", (long)jumps, caught);
            std::fflush(stdout);
            std::thread([] { throw 1; }).join();
        }"#;
    let mut command = program!("exceptions", source);
    // The end is C++'s for an exception that is not caught.
    let run = compare(
        Options {
            period: 100_000,
            ..SAMPLING
        },
        &mut command,
    );
    assert!(run.first().samples > 10);
}
