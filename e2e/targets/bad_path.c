// A pointer that is no path is refused by the kernel, and the program goes on.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int main(void) {
    char *volatile paths[] = {(char *)0, (char *)1, (char *)-1};
    for (int i = 0; i < 3; i++) {
        int file = open(paths[i], O_RDONLY);
        printf("%d %d\n", file, errno == EFAULT);
    }
}
