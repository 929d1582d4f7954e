// A program in which a compiler counts. The calls of each function are known. With `ends`, it has children that end in ways that the
// compiler's own functions do not notice. With `restricted`, it gives up all system calls but a few.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int fib(int n)
{
    if (n < 2)
        return n;
    return fib(n - 1) + fib(n - 2);
}

static int in_one_line(int n) { int sum = 0; for (int i = 0; i < n; i++) { sum += i; } return sum; }

static int branches(int n)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        switch (i % 4) {
        case 0:
            found++;
            break;
        case 1:
            found += i > 10 ? 2 : 3;
            // fall through
        case 2:
            found += 4;
            break;
        default:
            if (i > 20 && found % 2)
                goto out;
            continue;
        }
        while (found > 50)
            found -= 7;
    }
out:
    return found;
}

static jmp_buf back;

static void jumps(int n)
{
    if (n == 0)
        longjmp(back, 1);
    jumps(n - 1);
}

static volatile int turns;

static void caught(void)
{
    for (turns = 0; turns < 5; turns++) {
        if (setjmp(back) == 0)
            jumps(3);
    }
}

static int in_child(void) { return fib(1); }

static void child(const char *how, char *self)
{
    pid_t pid = fork();
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    for (int i = 0; i < 10; i++)
        in_child();
    if (!strcmp(how, "_exit"))
        _exit(0);
    if (!strcmp(how, "exec"))
        execl(self, self, "again", (char *)NULL);
    if (!strcmp(how, "nothing")) {
        execl("/no/such/program", self, (char *)NULL);
        in_child();
    }
    if (!strcmp(how, "abort"))
        abort();
    exit(0);
}

// LLVM's functions have written their file before this.
static int is_quiet;
__attribute__((destructor)) static void after_main(void) { if (!is_quiet) fib(0); }

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "again"))
        return in_child();
    is_quiet = !strcmp(what, "quiet");
    printf("%d %d %d\n", fib(15), in_one_line(100), branches(40));
    caught();
    if (!strcmp(what, "ends")) {
        child("exit", words[0]);
        child("_exit", words[0]);
        child("exec", words[0]);
        child("nothing", words[0]);
        child("abort", words[0]);
        fflush(stdout);
        _exit(3);
    }
    if (!strcmp(what, "storm")) {
        for (int i = 0; i < 60; i++) {
            if (fork() == 0) {
                in_child();
                _exit(0);
            }
        }
        while (wait(NULL) > 0)
            in_one_line(1);
    }
    if (!strcmp(what, "restricted")) {
        fflush(stdout);
        prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
        fib(5);
        syscall(SYS_exit, 3);
    }
    if (!strcmp(what, "library")) {
        void *library = dlopen(words[2], RTLD_NOW);
        int (*twice)(int) = (int (*)(int))dlsym(library, "twice");
        for (int i = 0; i < 21; i++)
            twice(i);
        if (count > 3)
            dlclose(library);
    }
    return 3;
}
