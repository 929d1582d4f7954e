"""A server with a thread for each connection, and its client with eight of them.

usage: threaded.py serve PORT | threaded.py ask PORT REQUESTS
"""
import http.client
import http.server
import signal
import sys
import threading

CONNECTIONS = 8


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One segment an answer: else each waits for an acknowledgement.
    wbufsize = -1

    def do_GET(self):
        body = str(sum(number * number for number in range(300))).encode() * 20
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(port):
    def stop(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


def ask(port, requests):
    def work():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(requests // CONNECTIONS):
            connection.request("GET", "/")
            connection.getresponse().read()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        ask(int(sys.argv[2]), int(sys.argv[3]))
