/* Libraries that work as soon as they are loaded, and never for long: `fresh keep LIBRARY…`, or
 * `fresh close LIBRARY…`, where each is gone before the next one comes. It ends right after the last. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int closes = strcmp(argv[1], "close") == 0, sum = 0;
    for (int i = 2; i < argc; i++) {
        void *handle = dlopen(argv[i], RTLD_NOW);
        if (!handle) { puts(dlerror()); return 1; }
        int (*plugin)(double) = (int (*)(double))dlsym(handle, "plugin");
        sum += plugin(0.005);
        if (closes) dlclose(handle);
    }
    printf("%d\n", sum);
}
