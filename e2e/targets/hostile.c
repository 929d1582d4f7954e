/* A program that turns against its profiler in the way that its first argument names, while it
   works for half a second and is sampled. Its work and its end are its own. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Words that are likely to be believed as lengths, offsets, numbers or pointers. */
static uint64_t bad_word(void) {
    static const uint64_t bad[] = {
        0, 1, ~0ull, ~0ull >> 1, 1ull << 63, 0xFFFFFFFFull, 0x7FFFFFFFull, 0x80000000ull,
        0xFFFFFFFF00000000ull, 1ull << 32, 1ull << 20, 4096, 65535,
    };
    uint64_t which = next_random() % 16;
    return which < sizeof bad / sizeof *bad ? bad[which] : next_random();
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

__attribute__((noinline)) void burn_in_spite(double seconds) {
    double end = now() + seconds;
    volatile unsigned sum = 0;
    while (now() < end)
        for (int turn = 0; turn < 20000; turn++)
            sum = sum * 3 + turn;
}

/* The session's folder, as the mappings tell it. */
static int session(char *folder) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], *found = 0;
    while (maps && !found && fgets(line, sizeof line, maps))
        if ((found = strstr(line, "/profundo-")) && (found = strstr(found, "/ring")))
            *found = 0, strcpy(folder, strchr(line, '/'));
    if (maps)
        fclose(maps);
    return found != 0;
}

static void scribble(uint64_t *from, size_t bytes, int share) {
    for (size_t word = 0; word < bytes / 8; word++)
        if (next_random() % share == 0)
            from[word] = bad_word();
}

/* Scribbles over the mappings whose paths have this word in them, and which can be written. */
static void scribble_mappings(const char *word, int share, size_t most) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long from, to;
    char mode[5];
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, word) && sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
            mode[1] == 'w')
            scribble((uint64_t *)from, to - from < most ? to - from : most, share);
    if (maps)
        fclose(maps);
}

/* Does something with each of the session's files. */
static void each_file(void (*does)(const char *path)) {
    char folder[4096], path[8192];
    if (!session(folder))
        return;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            does(path);
        }
    if (list)
        closedir(list);
}

static void scribble_file(const char *path) {
    int file = open(path, O_RDWR);
    off_t length = lseek(file, 0, SEEK_END);
    for (int turn = 0; file >= 0 && turn < 400; turn++) {
        uint64_t word = bad_word();
        off_t at = turn < 200 ? turn * 8 : (off_t)(next_random() % (length / 8 + 1)) * 8;
        if (at + 8 <= length && pwrite(file, &word, 8, at) != 8)
            break;
    }
    close(file);
}

static void shorten_file(const char *path) {
    if (truncate(path, next_random() % 2 * 4096))
        perror(path);
}

static void link_file(const char *path) {
    if (unlink(path) || symlink("victim", path))
        perror(path);
}

static int rewrite_frames(struct dl_phdr_info *module, size_t size, void *data) {
    (void)size, (void)data;
    if (module->dlpi_name[0])
        return 1;
    for (int at = 0; at < module->dlpi_phnum; at++)
        if (module->dlpi_phdr[at].p_type == PT_GNU_EH_FRAME) {
            char *from = (char *)(module->dlpi_addr + module->dlpi_phdr[at].p_vaddr);
            char *page = (char *)((uintptr_t)from & -4096);
            size_t bytes = (module->dlpi_phdr[at].p_memsz + 4095 + (from - page)) & -4096;
            if (mprotect(page, bytes, PROT_READ | PROT_WRITE) == 0)
                scribble((uint64_t *)from, module->dlpi_phdr[at].p_memsz, 2);
        }
    return 0;
}

static void *named(void *number) {
    char name[16];
    snprintf(name, sizeof name, "\x1b[3%dm\n\xff%d", (int)(intptr_t)number % 8,
             (int)(intptr_t)number);
    prctl(PR_SET_NAME, name);
    return 0;
}

static void threads(void) {
    for (intptr_t number = 0; number < 10000; number++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, named, (void *)number) == 0)
            pthread_join(thread, 0);
    }
}

/* A map of generated code, for each process that may be asked for it. */
static void perf_map(const char *kind) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    unlink(path);
    if (!strcmp(kind, "fifo"))
        mkfifo(path, 0600);
    if (!strcmp(kind, "link") && symlink("/dev/zero", path))
        perror(path);
    if (!strcmp(kind, "other")) {
        FILE *map = fopen(path, "w");
        fprintf(map, "1000 7ffffffff000 name_of_another_user\n");
        fclose(map);
        if (chown(path, 65534, 65534))
            perror(path);
    }
    if (!strcmp(kind, "long")) {
        FILE *map = fopen(path, "w");
        for (int line = 0; line < 300000; line++)
            fprintf(map, "%lx ffffffffffffffff \x1b]0;title\x07%d\n", next_random(), line);
        fclose(map);
    }
    /* Code that nothing but the map could name. */
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const unsigned char loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; /* dec, jnz, ret */
    memcpy(code, loop, sizeof loop);
#ifdef __x86_64__
    ((void (*)(long))code)(300000000);
#endif
    unlink(path);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int is_work = 1;
    burn_in_spite(0.1);
    for (int turn = 0; turn < 8; turn++) {
        if (!strcmp(how, "mappings"))
            scribble_mappings("/profundo-", turn % 2 ? 50 : 5, 64 << 20);
        if (!strcmp(how, "headers"))
            scribble_mappings("/profundo-", turn % 2 ? 20 : 3, 16384);
        if (!strcmp(how, "agent"))
            scribble_mappings("libprofundo-agent", 3, 64 << 20);
        if (!strcmp(how, "files"))
            each_file(scribble_file);
        if (!strcmp(how, "shorten"))
            each_file(shorten_file);
        if (!strcmp(how, "links") && turn == 5)
            each_file(link_file);
        if (!strcmp(how, "frames"))
            dl_iterate_phdr(rewrite_frames, 0);
        if (!strcmp(how, "threads") && turn == 0)
            threads();
        if (!strcmp(how, "map") && turn == 0)
            perf_map(argv[2]), is_work = 0;
        if (!strcmp(how, "name"))
            prctl(PR_SET_NAME, turn % 2 ? "\x1b]0;x\x07\n\xff\xfe" : "\r\x1b[2J\x9b" "31m");
        if (!strcmp(how, "library") && turn == 0 && !dlopen(argv[2], RTLD_NOW))
            puts(dlerror());
        if (is_work)
            burn_in_spite(0.05);
    }
    puts("worked in spite");
    return 7;
}
