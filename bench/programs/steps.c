/* Work in functions of known shares, 30, 25, 20, 15 and 10 % of the time: `steps ROUNDS [SLOWER]`
   makes the first of them slower, in percent. */
#include <stdio.h>
#include <stdlib.h>

#define STEP(name, operation)                                        \
    __attribute__((noinline)) unsigned long name(unsigned long turns) \
    {                                                                \
        unsigned long value = turns;                                 \
        for (unsigned long turn = 0; turn < turns; turn++) {         \
            operation;                                               \
            __asm__ volatile("" : "+r"(value));                      \
        }                                                            \
        return value;                                                \
    }

STEP(first, value = value * 6364136223846793005 + turn)
STEP(second, value = (value ^ turn) * 2862933555777941757)
STEP(third, value = (value + turn) * 3202034522624059733)
STEP(fourth, value = value * 3935559000370003845 ^ turn)
STEP(fifth, value = (value - turn) * 2685821657736338717)

int main(int count, char **words)
{
    unsigned long rounds = count > 1 ? strtoul(words[1], NULL, 10) : 1000;
    unsigned long slower = count > 2 ? strtoul(words[2], NULL, 10) : 0;
    unsigned long total = 0;
    for (unsigned long round = 0; round < rounds; round++) {
        total += first(30000 + 300 * slower);
        total += second(25000);
        total += third(20000);
        total += fourth(15000);
        total += fifth(10000);
    }
    printf("%lu\n", total);
    return 0;
}
