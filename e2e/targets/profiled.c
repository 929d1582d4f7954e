// A program whose functions report that they begin (-pg). The calls of each by each are known.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef double wide __attribute__((vector_size(32)));

#define OWN __attribute__((noinline))

static volatile int calls;

OWN int leaf(int n) { calls = calls + 1; return n + 1; }
OWN int left(int n) { return leaf(n) + leaf(n); }
OWN int right(int n) { return leaf(n) + left(n); }
OWN int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// Arguments in registers of all kinds.
OWN double many(int a, long b, char *c, double d, float e, long f, long g, long h, long i, ...)
{
    va_list rest;
    va_start(rest, i);
    double sum = a + b + *c + d + e + f + g + h + i + va_arg(rest, double) + va_arg(rest, int);
    va_end(rest);
    return sum;
}

#ifdef WIDE
OWN wide widest(wide a, wide b) { return a * b; }
#endif

OWN int compare(const void *a, const void *b) { return leaf(*(const int *)a) - leaf(*(const int *)b); }

OWN void sorts(void)
{
    int numbers[] = {5, 3, 4, 1, 2};
    left(0);
    qsort(numbers, 5, sizeof *numbers, compare);
    left(0);
}

OWN void *thread_main(void *argument)
{
    for (int i = 0; i < 100; i++)
        leaf(i);
    return argument;
}

OWN void in_child(void) { leaf(1); }

int main(void)
{
    double sum = fib(10) + right(1);
    for (int i = 0; i < 10; i++)
        sum += many(1, 2, "3", 4.5, 5.25f, 6, 7, 8, 9, 10.5, 11);
    sorts();
#ifdef WIDE
    for (int i = 0; i < 10; i++) {
        wide a = {1, 2, 3, i}, b = {4, 5, 6, 7};
        wide c = widest(a, b);
        sum += c[0] + c[1] + c[2] + c[3];
    }
#endif
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(threads + i, NULL, thread_main, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pid_t pid = fork();
    if (pid == 0) {
        in_child();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    printf("%f\n", sum);
    return 3;
}
