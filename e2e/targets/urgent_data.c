/* SIGURG as it is meant: urgent data on a socket, in the handler and by select, and a program
 * that never heard of it goes on as it is. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "burn.h"

static volatile int urgent;
BURNS(burn_between)
static void on_urgent(int signal) { (void)signal; urgent++; }

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    bind(listener, (void *)&address, length);
    listen(listener, 1);
    getsockname(listener, (void *)&address, &length);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)&address, length)) { perror("connect"); return 1; }
    int server = accept(listener, NULL, NULL);
    fcntl(server, F_SETOWN, getpid());
    burn_between(0.2);
    /* Nobody listens to the signal: it is ignored. */
    send(client, "a", 1, MSG_OOB);
    struct pollfd ready = {.fd = server, .events = POLLPRI};
    while (poll(&ready, 1, -1) < 0 && errno == EINTR) {}
    char byte;
    recv(server, &byte, 1, MSG_OOB);
    printf("%c %d\n", byte, urgent);
    signal(SIGURG, on_urgent);
    for (int i = 0; i < 100; i++) {
        send(client, "b", 1, MSG_OOB);
        while (urgent <= i) spin(1000, 1);
        recv(server, &byte, 1, MSG_OOB);
        burn_between(0.003);
    }
    printf("%c %d\n", byte, urgent);
}
