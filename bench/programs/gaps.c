/* A thread that does nothing but read the cycle counter: what takes it away shows as a gap. */
#include <stdint.h>
#include <x86intrin.h>

/* Shorter gaps are the hypervisor's; a signal takes thousands of cycles. Longer ones than the
 * last are the scheduler's: somebody else had the CPU. */
enum { SHORT = 1000, LONG = 300000 };

/* Spins for so many cycles. Returns the cycles lost in gaps, and how many gaps there were. */
uint64_t spin(uint64_t cycles, uint64_t *gaps) {
    uint64_t began = __rdtsc(), last = began, lost = 0, count = 0;
    while (last - began < cycles) {
        uint64_t now = __rdtsc(), gap = now - last;
        if (gap > SHORT && gap < LONG) {
            lost += gap;
            count++;
        }
        last = now;
    }
    *gaps = count;
    return lost;
}
