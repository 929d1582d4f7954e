// Ends in the way that its argument says, while other threads allocate: by handlers and destructors that work for a
// while, in a thread, or without any of them. What it prints is the same each time.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static void say(const std::string &text) {
    std::string line = text + "\n";
    if (write(1, line.data(), line.size()) < 0) _exit(99);
}

static int work(int milliseconds) {
    int blocks = 0;
    for (int turn = 0; turn < milliseconds; turn++) {
        for (int i = 0; i < 300; i++) {
            std::unique_ptr<char[]> block(new char[i * 7 + 1]);
            block[0] = 1;
            blocks += block[0];
        }
        usleep(500);
    }
    return blocks;
}

struct Named {
    std::string name;
    std::vector<std::string> parts;
    explicit Named(const char *name) : name(name), parts(100, "a text that is too long to be without a block") {}
    ~Named() {
        work(60);
        say(name + " is destroyed, with " + std::to_string(parts.size()));
    }
};

static Named first("the first"), second("the second");
static thread_local Named of_thread("a thread's own");

static void forever() {
    for (;;) work(5);
}

static void at_exit() {
    static std::atomic<int> count;
    say("handler " + std::to_string(++count) + ": " + std::to_string(work(60)));
}

static void at_quick_exit_() { say("quick handler " + std::to_string(work(200))); }

int main(int, char **words) {
    const std::string how = words[1];
    for (int i = 0; i < 5; i++) atexit(at_exit);
    at_quick_exit(at_quick_exit_);
    for (int i = 0; i < 2; i++) std::thread(forever).detach();
    say("begun");
    of_thread.parts.resize(50);
    work(200);
    if (how == "return") return 3;
    if (how == "exit") exit(4);
    if (how == "quick") quick_exit(5);
    if (how == "hard") std::thread([] { work(200); _exit(6); }).join();
    if (how == "thread") {
        std::thread([] { work(200); exit(7); }).detach();
        for (;;) work(5);
    }
    if (how == "last") {
        std::thread([] { work(300); say("the last thread"); exit(8); }).detach();
        pthread_exit(nullptr);
    }
    if (how == "fork") {
        pid_t child = fork();
        if (child == 0) exit(9);
        int status;
        waitpid(child, &status, 0);
        say("the child has ended with " + std::to_string(WEXITSTATUS(status)));
        return 10;
    }
    if (how == "signal") {
        std::thread([] { work(200); kill(getpid(), SIGTERM); }).detach();
        for (;;) work(5);
    }
    return 99;
}
