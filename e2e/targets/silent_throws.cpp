// Functions that report their calls as those of clang do: when they begin and when they return, but not when an exception leaves them.
// Written by hand, so that every compiler builds it.
#include <cstdio>

#define OWN extern "C" __attribute__((noinline))

extern "C" void __cyg_profile_func_enter(void *function, void *site);
extern "C" void __cyg_profile_func_exit(void *function, void *site);

#define BEGINS(name) __cyg_profile_func_enter((void *)name, __builtin_return_address(0))
// Something after it, so that it is called with the function's frame still there.
#define ENDS(name)                                                                  \
    do {                                                                            \
        __cyg_profile_func_exit((void *)name, __builtin_return_address(0));         \
        asm volatile("" ::: "memory");                                              \
    } while (0)

static volatile long sink;

OWN void silent(int n) { sink = sink + (n < 0); }

OWN void thrower(int n) {
    BEGINS(thrower);
    if (n > 0) throw n;
    ENDS(thrower);
}

// With a frame as large as that of the one below it.
OWN void follows(int n) {
    BEGINS(follows);
    silent(n);
    ENDS(follows);
}

OWN void ends(int n) {
    BEGINS(ends);
    if (n < 0) throw n;
    ENDS(ends);
}

OWN void passes(int n) {
    BEGINS(passes);
    thrower(n);
    ENDS(passes);
}

OWN void catches(int n) {
    BEGINS(catches);
    try {
        passes(n);
    } catch (int) {
    }
    follows(n);
    ENDS(catches);
}

// It catches what an inner call of its own has thrown.
OWN void recurses(int n) {
    BEGINS(recurses);
    if (n == 0) throw 1;
    try {
        recurses(n - 1);
    } catch (int) {
        sink = sink + 1;
    }
    ENDS(recurses);
}

OWN void next(int n) {
    BEGINS(next);
    recurses(n);
    ends(n);
    ENDS(next);
}

int main() {
    for (int i = 0; i < 100; i++) {
        catches(1);
        next(3);
    }
    printf("%ld\n", sink);
}
