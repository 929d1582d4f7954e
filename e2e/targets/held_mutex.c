/* Threads wait for a mutex that the main thread holds while it sleeps. */
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, waits, NULL);
    usleep(700000);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}
