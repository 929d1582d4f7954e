// Memory is allocated and freed, and time is spent, in the destructors of thread-local objects
// and of pthread keys, when most of the thread is gone already.
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <atomic>
#include "burn.h"

static std::atomic<int> gone{0};
static pthread_key_t key;

BURNS(burn_in_destructor)

struct Last {
    std::vector<std::string> words;
    ~Last() {
        for (int i = 0; i < 200; i++) words.push_back(std::string(100 + i, 'x'));
        burn_in_destructor(0.004);
        gone++;
    }
};
static thread_local Last last;

// Sets the key again, so that it is called as often as the C library does that.
static void of_key(void *value) {
    char *text = static_cast<char *>(value);
    burn_in_destructor(0.004);
    if (text[0] > 'a') {
        char *next = static_cast<char *>(malloc(1000));
        next[0] = text[0] - 1;
        pthread_setspecific(key, next);
    }
    free(text);
    gone++;
}

static void *work(void *) {
    last.words.push_back("first");
    char *text = static_cast<char *>(malloc(100));
    text[0] = 'c';
    pthread_setspecific(key, text);
    return nullptr;
}

int main() {
    pthread_key_create(&key, of_key);
    for (int round = 0; round < 10; round++) {
        pthread_t threads[6];
        for (auto &thread : threads) pthread_create(&thread, nullptr, work, nullptr);
        for (auto &thread : threads) pthread_join(thread, nullptr);
    }
    printf("%d destructors\n", gone.load());
}
