/* An allocator that is loaded first: it counts, and takes its memory from the C library. */
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

long allocator_calls;

#define CALLED __atomic_fetch_add(&allocator_calls, 1, __ATOMIC_RELAXED)

void *malloc(size_t bytes) { CALLED; return __libc_malloc(bytes); }
void *calloc(size_t many, size_t bytes) { CALLED; return __libc_calloc(many, bytes); }
void *realloc(void *old, size_t bytes) { CALLED; return __libc_realloc(old, bytes); }
void free(void *block) { CALLED; __libc_free(block); }
