/* Threads that write and read known numbers of bytes, each with a file of its own.
 *
 * usage: known_io FOLDER */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copying so much takes long enough to be sampled often. */
enum { WRITTEN = 1000 << 20, READ = 1000 << 20, PIECE = 1 << 12 };

static const char *folder;

static int opened(const char *name, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, flags, 0600);
    if (file < 0) {
        perror(path);
        exit(1);
    }
    return file;
}

static void put(int file, long bytes) {
    static const char piece[PIECE];
    for (long done = 0; done < bytes; done += PIECE)
        if (pwrite(file, piece, PIECE, done % (4 << 20)) != PIECE) /* puts */
            exit(1);
}

static void get(int file, long bytes) {
    char piece[PIECE];
    for (long done = 0; done < bytes; done += PIECE)
        if (pread(file, piece, PIECE, done % (4 << 20)) != PIECE) /* gets */
            exit(1);
}

static void *writer(void *unused) {
    put(opened("known-io.written", O_RDWR | O_CREAT), WRITTEN);
    return unused;
}

static void *reader(void *unused) {
    get(opened("known-io.read", O_RDONLY), READ);
    return unused;
}

int main(int count, char **arguments) {
    folder = count > 1 ? arguments[1] : "/tmp";
    int file = opened("known-io.read", O_RDWR | O_CREAT);
    put(file, 4 << 20);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
    puts("done");
    return 0;
}
