/* Allocates known numbers of bytes of known types. */
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

struct Node {
    long values[100];
};

static volatile unsigned long sink;

int main() {
    std::vector<long> grown;
    for (long number = 0; number < 100000; number++)
        grown.push_back(number);
    std::vector<std::unique_ptr<Node>> owned;
    std::vector<std::shared_ptr<Node>> counted;
    for (int at = 0; at < 1000; at++) {
        owned.push_back(std::make_unique<Node>());
        counted.push_back(std::make_shared<Node>());
    }
    std::unordered_map<long, std::string> named;
    for (long number = 0; number < 1000; number++)
        named[number] = std::string(500, 'x');
    std::map<int, Node> sorted;
    for (int number = 0; number < 1000; number++)
        sorted[number].values[0] = number;
    std::multiset<int> several;
    for (int number = 0; number < 1000; number++)
        several.insert(number % 10);
    Node *plain = new Node[100];
    sink = grown.size() + owned.size() + counted.size() + named.size() + sorted.size() + several.size();
    sink = reinterpret_cast<unsigned long>(plain);
    return 0;
}
