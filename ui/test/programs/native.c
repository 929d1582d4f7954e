/* CPU time in C, at lines that a debugger knows. */

#include <stdint.h>
#include <stdio.h>

static uint64_t mix(uint64_t value) {
    for (int i = 0; i < 2000; i++) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    return value;
}

static uint64_t divide(uint64_t value) {
    uint64_t sum = 0;
    for (int i = 1; i < 1500; i++) {
        sum += value / i;
    }
    return sum;
}

static uint64_t work(int rounds) {
    uint64_t value = 88172645463325252u;
    for (int i = 0; i < rounds; i++) {
        value = mix(value) + divide(value);
    }
    return value;
}

int main(void) {
    printf("%llu\n", (unsigned long long)(work(20000) & 1));
    return 0;
}
