// Allocates known numbers of bytes on known lines by C++'s operators, and fails to.
#include <cstdio>
#include <new>
#include <vector>

struct alignas(64) Wide {
    char bytes[192];
};

static void *volatile sink;

template <typename T> static T *taken(T *block) {
    sink = block;
    return block;
}

int main() {
    for (int times = 0; times < 100; times++)
        taken(new int[25]); // keeps
    for (int times = 0; times < 100; times++)
        delete taken(new double(3)); // passes
    Wide *wide = taken(new Wide[3]); // aligns
    delete[] wide;
    std::vector<char> *grown = new std::vector<char>(); // a vector
    grown->reserve(5000);                               // its bytes
    sink = grown->data();
    delete grown;
    int refused = 0;
    for (int times = 0; times < 3; times++) {
        try {
            sink = ::operator new(static_cast<std::size_t>(1) << 62);
        } catch (const std::bad_alloc &) {
            refused++;
        }
        if (::operator new(static_cast<std::size_t>(1) << 62, std::nothrow) == nullptr)
            refused++;
    }
    for (int times = 0; times < 10; times++)
        taken(new char[1000]); // afterwards
    std::printf("%d\n", refused);
    return 0;
}
