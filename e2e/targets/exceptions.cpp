// Exceptions fly through forty frames with destructors, in two threads.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include "burn.h"

static thread_local int destroyed;
struct Guard { ~Guard() { destroyed++; } };

__attribute__((noinline)) static int throws_below(int n) {
    Guard guard;
    if (n == 0) throw std::runtime_error("the bottom");
    int below = throws_below(n - 1);
    __asm__ volatile("");
    return below + 1;
}

static void catches(const char *who, int *caught) {
    double end = thread_seconds() + 0.6;
    do {
        try { throws_below(40); }
        catch (const std::exception &e) { *caught += std::string(e.what()) == "the bottom"; }
    } while (thread_seconds() < end);
    (void)who;
}

int main() {
    int one = 0, two = 0;
    std::thread other([&] { catches("other", &two); if (destroyed != two * 41) puts("leaked"); });
    catches("main", &one);
    if (destroyed != one * 41) puts("leaked");
    other.join();
    printf("%s\n", one > 100 && two > 100 ? "caught all" : "caught few");
}
