// A program whose functions report their calls. The number of calls of each is known, but for one, which the program
// writes into the file that an argument names.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN extern "C" __attribute__((noinline))

static volatile long sink;

OWN void before_main() { sink = sink + 1; }
OWN void after_main() { sink = sink + 1; }

struct Whole {
    Whole() { before_main(); }
    ~Whole() { after_main(); }
};
static Whole whole;

OWN int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

OWN void work() { sink = sink + 1; }

OWN void *thread_main(void *) {
    for (int i = 0; i < 1000; i++) work();
    return nullptr;
}

OWN void *thread_exits(void *) {
    work();
    pthread_exit(nullptr);
}

OWN void in_child() { sink = sink + 1; }

OWN void forks() {
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 7; i++) in_child();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            in_child();
            _exit(0);
        }
        waitpid(grandchild, nullptr, 0);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

static jmp_buf back;

OWN void deep(int n) {
    if (n == 0) longjmp(back, 1);
    deep(n - 1);
    sink = sink + 1;
}

OWN void after_jump() { sink = sink + 1; }

OWN void jumps() {
    if (setjmp(back) == 0) deep(5);
    after_jump();
}

OWN void throws(int n) {
    if (n == 0) throw std::runtime_error("thrown");
    throws(n - 1);
    sink = sink + 1;
}

OWN void after_catch() { sink = sink + 1; }

OWN void catches() {
    try {
        throws(3);
    } catch (const std::runtime_error &) {
    }
    after_catch();
}

OWN void in_handler() { sink = sink + 1; }
OWN void on_signal(int) { in_handler(); }
OWN void after_signal() { sink = sink + 1; }

static sigjmp_buf out;
OWN void on_escape(int) { siglongjmp(out, 1); }

OWN void escapes() {
    if (sigsetjmp(out, 1) == 0) raise(SIGWINCH);
    after_signal();
}

static volatile int ticks;
OWN void tick() { sink = sink + 1; }
OWN void on_alarm(int) {
    if (ticks < 200) {
        ticks = ticks + 1;
        tick();
    }
}

OWN void spin() { sink = sink + 1; }

// Signals come anywhere, also while a call is being counted.
OWN long storm() {
    signal(SIGALRM, on_alarm);
    itimerval every = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &every, nullptr);
    long spins = 0;
    while (ticks < 200) {
        spin();
        spins++;
    }
    every = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    signal(SIGALRM, SIG_IGN);
    return spins;
}

int main(int count, char **arguments) {
    printf("fib(15) = %d\n", fib(15));
    fflush(stdout);
    pthread_t threads[5];
    for (auto &thread : threads)
        pthread_create(&thread, nullptr, &thread == &threads[4] ? thread_exits : thread_main, nullptr);
    for (auto thread : threads) pthread_join(thread, nullptr);
    forks();
    for (int i = 0; i < 100; i++) jumps();
    for (int i = 0; i < 50; i++) catches();
    stack_t other = {};
    other.ss_size = 1 << 16;
    other.ss_sp = malloc(other.ss_size);
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    signal(SIGWINCH, on_escape);
    for (int i = 0; i < 150; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
        escapes();
    }
    long spins = storm();
    if (count > 1) {
        FILE *file = fopen(arguments[1], "w");
        fprintf(file, "%ld", spins);
        fclose(file);
    }
    return 3;
}
