// Keeps vectors, strings and a map; with an argument, for a while.
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

struct Node {
    long values[100];
};

static volatile unsigned long sink;

int main(int count, char **) {
    std::vector<long> grown;
    for (long number = 0; number < 200000; number++)
        grown.push_back(number);
    std::vector<std::unique_ptr<Node>> owned;
    for (int at = 0; at < 1000; at++)
        owned.push_back(std::make_unique<Node>());
    std::map<int, std::string> named;
    for (int number = 0; number < 1000; number++)
        named[number] = std::string(500, 'x');
    if (count > 1) sleep(20);
    sink = grown.size() + owned.size() + named.size();
    return 0;
}
