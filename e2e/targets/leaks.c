// Programs that keep memory, of which one leaks it.
//
// usage: leaks cache|warm_up|pool|leak|ring|sessions|table|plateau SEED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 30000
#define MOST 30000

static void *kept[MOST];
static void *lost[MOST];
static unsigned long long state;

static unsigned dice(unsigned end) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % end;
}

static void *entry(size_t size) {
    char *block = malloc(size);
    block[0] = 1;
    return block;
}

static void *leaked(size_t size) {
    char *block = malloc(size); // LEAK
    block[0] = 1;
    return block;
}

static void noise(void) {
    char *text = malloc(200 + dice(5000));
    text[0] = 'n';
    char *more = realloc(text, 6000);
    free(more);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *mode = words[1];
    state = (unsigned long long)atoi(words[2]) * 7919 + 1;
    int first = 0, held = 0;
    if (!strcmp(mode, "pool"))
        for (; held < 50; held++) kept[held] = entry(20000);
    for (int step = 0; step < STEPS; step++) {
        noise();
        if (!strcmp(mode, "cache")) {
            kept[step] = entry(2000);
            if (step - first >= 4000) free(kept[first++]);
        } else if (!strcmp(mode, "warm_up")) {
            if (step < STEPS / 10) kept[step] = entry(4000);
        } else if (!strcmp(mode, "pool")) {
            if (held == 0) kept[held++] = entry(20000);
            lost[step % 60] = kept[--held];
            kept[held++] = lost[step % 60];
        } else if (!strcmp(mode, "leak")) {
            void *block = leaked(4000);
            if (step % 100 == 0)
                lost[step] = block;
            else
                free(block);
        } else if (!strcmp(mode, "ring")) {
            free(kept[step % 1000]);
            kept[step % 1000] = entry(3000);
        } else if (!strcmp(mode, "sessions")) {
            unsigned place = dice(800);
            free(kept[place]);
            kept[place] = entry(2000);
        } else if (!strcmp(mode, "table")) {
            unsigned place = dice(4000);
            if (!kept[place]) kept[place] = entry(2000);
        } else if (!strcmp(mode, "plateau")) {
            if (step < STEPS * 6 / 10) kept[step] = entry(1000);
        }
        if (step % 500 == 0) {
            // Time passes.
            struct timespec pause = {0, 20000000};
            nanosleep(&pause, NULL);
        }
    }
    printf("%p\n", kept[0]);
    return 0;
}
