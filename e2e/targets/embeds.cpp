// A program that embeds Python: it runs a script, ends the interpreter, begins another one, and
// calls Python from a thread of its own.
#include <Python.h>
#include <cstdio>
#include <thread>

static void run(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) { perror(path); return; }
    PyRun_SimpleFile(file, path);
    fclose(file);
}

int main(int argc, char **argv) {
    for (int i = 0; i < 2; i++) {
        Py_Initialize();
        run(argv[1]);
        PyThreadState *main_state = PyEval_SaveThread();
        std::thread other([] {
            PyGILState_STATE state = PyGILState_Ensure();
            PyRun_SimpleString("def in_thread():\n  return sum(range(1000000))\nprint(in_thread())");
            PyGILState_Release(state);
        });
        other.join();
        PyEval_RestoreThread(main_state);
        if (Py_FinalizeEx()) puts("not finalised");
    }
    return 5;
}
