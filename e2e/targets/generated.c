/* A program that generates code, and publishes its names in one of three ways: by a perf map, by a
 * jitdump file, or by the list that debuggers look for. One place is used twice: first it is `early`,
 * then `late`, each called through `outer`, which is generated too. Files are removed at the end. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "burn.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
/* push rbp; mov rbp, rsp; mov rax, rdi; 1: dec rax; jnz 1b; pop rbp; ret */
static const unsigned char count_down[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0xff,
                                           0xc8, 0x75, 0xfb, 0x5d, 0xc3};
/* push rbp; mov rbp, rsp; call rsi; nop; pop rbp; ret */
static const unsigned char call_on[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x90, 0x5d, 0xc3};
#else
#define MACHINE EM_AARCH64
/* stp x29, x30, [sp, -16]!; mov x29, sp; 1: subs x0, x0, 1; b.ne 1b; ldp x29, x30, [sp], 16; ret */
static const uint32_t count_down[] = {0xa9bf7bfd, 0x910003fd, 0xf1000400,
                                      0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
/* stp x29, x30, [sp, -16]!; mov x29, sp; blr x1; nop; ldp x29, x30, [sp], 16; ret */
static const uint32_t call_on[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0020,
                                   0xd503201f, 0xa8c17bfd, 0xd65f03c0};
#endif

/* What GDB's documentation says that they look like. */
struct jit_entry {
    struct jit_entry *next, *previous;
    const char *file;
    uint64_t size;
};
struct jit_descriptor {
    uint32_t version, flag;
    struct jit_entry *relevant, *first;
};
struct jit_descriptor __jit_debug_descriptor = {1, 0, 0, 0};
__attribute__((noinline)) void __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }

struct object {
    Elf64_Ehdr head;
    Elf64_Shdr sections[4];
    Elf64_Sym symbols[2];
    char names[64];
    struct jit_entry entry;
};

static void announce_to_debuggers(const char *name, void *code, size_t size) {
    static struct object *before;
    if (before && before->sections[1].sh_addr == (uintptr_t)code) {
        /* What was there is there no longer. */
        if (before->entry.previous) before->entry.previous->next = before->entry.next;
        else __jit_debug_descriptor.first = before->entry.next;
        if (before->entry.next) before->entry.next->previous = before->entry.previous;
        __jit_debug_descriptor.relevant = &before->entry;
        __jit_debug_descriptor.flag = 2;
        __jit_debug_register_code();
        free(before);
    }
    struct object *o = calloc(1, sizeof *o);
    memcpy(o->head.e_ident, ELFMAG "\2\1\1", 7);
    o->head.e_type = ET_REL;
    o->head.e_machine = MACHINE;
    o->head.e_version = 1;
    o->head.e_shoff = offsetof(struct object, sections);
    o->head.e_ehsize = sizeof o->head;
    o->head.e_shentsize = sizeof o->sections[0];
    o->head.e_shnum = 4;
    o->head.e_shstrndx = 3;
    snprintf(o->names, sizeof o->names, "%c.text%c.symtab%c.strtab%c%s", 0, 0, 0, 0, name);
    o->sections[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                  .sh_addr = (uintptr_t)code, .sh_size = size};
    o->sections[2] = (Elf64_Shdr){.sh_name = 7, .sh_type = SHT_SYMTAB, .sh_link = 3, .sh_info = 1,
                                  .sh_offset = offsetof(struct object, symbols),
                                  .sh_size = sizeof o->symbols, .sh_entsize = sizeof o->symbols[0]};
    o->sections[3] = (Elf64_Shdr){.sh_name = 15, .sh_type = SHT_STRTAB,
                                  .sh_offset = offsetof(struct object, names), .sh_size = sizeof o->names};
    o->symbols[1] = (Elf64_Sym){.st_name = 23, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                .st_shndx = 1, .st_size = size};
    o->entry.file = (const char *)o;
    o->entry.size = offsetof(struct object, entry);
    o->entry.next = __jit_debug_descriptor.first;
    if (o->entry.next) o->entry.next->previous = &o->entry;
    __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &o->entry;
    __jit_debug_descriptor.flag = 1;
    __jit_debug_register_code();
    before = o;
}

static void announce_in_map(const char *name, void *code, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "a");
    fprintf(map, "%lx %zx %s\n", (unsigned long)code, size, name);
    fclose(map);
}

static uint64_t monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void announce_in_dump(const char *name, void *code, size_t size) {
    static int file = -1;
    static uint64_t number;
    if (file < 0) {
        char path[64];
        snprintf(path, sizeof path, "jit-%d.dump", getpid());
        file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
        struct { uint32_t magic, version, size, machine, pad, pid; uint64_t time, flags; } head = {
            0x4A695444, 1, sizeof head, MACHINE, 0, getpid(), monotonic(), 0};
        if (write(file, &head, sizeof head) != sizeof head) abort();
        mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    }
    /* Two lines, the second from the fifth byte on. */
    struct { uint64_t address; uint32_t line, column; char file[16]; } lines[2] = {
        {(uintptr_t)code, 10, 0, "/src/made.code"}, {(uintptr_t)code + 4, 11, 0, "/src/made.code"}};
    char body[1024];
    size_t at = 0;
#define PUT(value) (memcpy(body + at, &(value), sizeof(value)), at += sizeof(value))
    uint32_t kind = 2, whole = 16 + 16 + 2 * (16 + 15);
    uint64_t time = monotonic(), two = 2, address = (uintptr_t)code, bytes = size;
    PUT(kind), PUT(whole), PUT(time), PUT(address), PUT(two);
    for (int i = 0; i < 2; i++) {
        memcpy(body + at, &lines[i], 16 + 15);
        at += 16 + 15;
    }
    kind = 0;
    whole = 16 + 40 + strlen(name) + 1 + size;
    uint32_t pid = getpid(), tid = syscall(SYS_gettid);
    PUT(kind), PUT(whole), PUT(time), PUT(pid), PUT(tid), PUT(address), PUT(address), PUT(bytes), PUT(number);
    memcpy(body + at, name, strlen(name) + 1);
    at += strlen(name) + 1;
    memcpy(body + at, code, size);
    at += size;
    number++;
    if (write(file, body, at) != (ssize_t)at) abort();
}

static void (*announce)(const char *, void *, size_t);

/* Code is written, then made executable, so that memory is never both. */
static void *generate(void *place, const void *code, size_t size, const char *name) {
    mprotect(place, 4096, PROT_READ | PROT_WRITE);
    memcpy(place, code, size);
    __builtin___clear_cache(place, (char *)place + size);
    mprotect(place, 4096, PROT_READ | PROT_EXEC);
    announce(name, place, size);
    return place;
}

__attribute__((noipa)) static void burn(void *outer, void *inner, double seconds) {
    double end = thread_seconds() + seconds;
    while (thread_seconds() < end) ((void (*)(long, void *))outer)(200000, inner);
    __asm__ volatile("");
}

/* Whoever looks for code from time to time has looked. */
static void rest(void) { usleep(700000); }

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "map";
    announce = !strcmp(way, "map") ? announce_in_map : !strcmp(way, "dump") ? announce_in_dump : announce_to_debuggers;
    char *memory = mmap(0, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *outer = generate(memory, call_on, sizeof call_on, "outer");
    void *inner = generate(memory + 8192, count_down, sizeof count_down, "early");
    burn(outer, inner, 0.4);
    rest();
    inner = generate(memory + 8192, count_down, sizeof count_down, "late");
    rest();
    burn(outer, inner, 0.6);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    unlink(path);
    snprintf(path, sizeof path, "jit-%d.dump", getpid());
    unlink(path);
    puts("done");
    return 0;
}
