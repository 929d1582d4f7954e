// Threads are cancelled while they wait in functions of the C library, leave by pthread_exit, and throw through it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

struct Guard {
    const char *name;
    ~Guard() { printf("left %s\n", name); }
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *in_condition(void *) {
    Guard guard{"the condition"};
    pthread_mutex_lock(&lock);
    for (;;) pthread_cond_wait(&never, &lock);
}

static void *in_sigsuspend(void *) {
    Guard guard{"sigsuspend"};
    sigset_t none;
    sigemptyset(&none);
    for (;;) sigsuspend(&none);
}

static void *in_system(void *) {
    Guard guard{"system"};
    if (system("sleep 20")) puts("the shell was killed");
    return nullptr;
}

static void *exits(void *) {
    Guard guard{"the thread"};
    pthread_exit(nullptr);
}

static int throws(const void *, const void *) { throw std::runtime_error("qsort"); }

int main() {
    void *(*functions[])(void *) = {in_condition, in_sigsuspend, in_system, exits};
    for (auto function : functions) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, nullptr, function, nullptr);
        usleep(200000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    }
    int numbers[] = {3, 2, 1};
    try { qsort(numbers, 3, sizeof(int), throws); }
    catch (const std::exception &thrown) { printf("caught %s\n", thrown.what()); }
}
