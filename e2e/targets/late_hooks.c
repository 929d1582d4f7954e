/* A program that puts hooks of its own into the table through which it calls malloc, as plthook does: "hook" puts
 * them there, "unhook" what was there before, and "go" allocates and prints how many calls the hook has seen. It ends
 * with its input, and exits with 7. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *(*before)(size_t);
static volatile long hooked;
static volatile int over;

static void *hook(size_t bytes) {
    __atomic_fetch_add(&hooked, 1, __ATOMIC_RELAXED);
    return before(bytes); // passes on
}

/* The word of the executable's table for malloc. */
static void **slot(void) {
    for (ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) base = _r_debug.r_map->l_addr, at = entry->d_un.d_ptr;
        (void)at;
        if (entry->d_tag != DT_JMPREL && entry->d_tag != DT_RELA) continue;
        size_t bytes = 0;
        ElfW(Sym) *symbols = 0;
        const char *names = 0;
        for (ElfW(Dyn) *other = _DYNAMIC; other->d_tag != DT_NULL; other++) {
            if (other->d_tag == (entry->d_tag == DT_RELA ? DT_RELASZ : DT_PLTRELSZ)) bytes = other->d_un.d_val;
            if (other->d_tag == DT_SYMTAB) symbols = (void *)other->d_un.d_ptr;
            if (other->d_tag == DT_STRTAB) names = (void *)other->d_un.d_ptr;
        }
        ElfW(Rela) *relocations = (void *)entry->d_un.d_ptr;
        for (size_t i = 0; i < bytes / sizeof *relocations; i++) {
            unsigned long kind = ELF64_R_TYPE(relocations[i].r_info);
            if (kind != R_X86_64_JUMP_SLOT && kind != R_X86_64_GLOB_DAT) continue;
            if (strcmp(names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name, "malloc") == 0)
                return (void **)(base + relocations[i].r_offset);
        }
    }
    abort();
}

static void put(void *function) {
    void **place = slot();
    char *page = (char *)((unsigned long)place & ~4095ul);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    if (function == hook) before = (void *(*)(size_t))*place;
    *place = function;
#ifdef READ_ONLY
    mprotect(page, 4096, PROT_READ);
#endif
}

static void *noise(void *p) {
    while (!over) {
        free(strdup("noise"));
        usleep(50);
    }
    return p;
}

static void go(void) {
    long was = hooked, bytes = 0;
    for (int i = 0; i < 300; i++) {
        void *block = malloc(40 + i); // hooks
        bytes += 40 + i;
        free(block);
    }
    printf("hooked %ld 0\n", hooked - was);
    printf("hooks 300 %ld\n", bytes);
}

int main(void) {
    /* The table is filled in. */
    free(malloc(1));
    pthread_t thread;
    pthread_create(&thread, 0, noise, 0);
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("begun");
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "hook\n") == 0) put(hook);
        else if (strcmp(line, "unhook\n") == 0) put((void *)before);
        else go();
        puts("done");
    }
    over = 1;
    pthread_join(thread, 0);
    return 7;
}
