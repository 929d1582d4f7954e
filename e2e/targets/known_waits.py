"""Threads that wait for known things; it prints how long each has waited, in JSON.

usage: known_waits.py [SCALE]
"""
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time

SCALE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
waited = {}


def timed(name, wait):
    began = time.monotonic()
    wait()
    waited[name] = waited.get(name, 0) + time.monotonic() - began


def sleeps():
    time.sleep(0.4 * SCALE)  # sleeps


def sleeps_shortly():
    for _ in range(int(150 * SCALE)):
        time.sleep(0.002)  # sleeps_shortly


def waits_for_child():
    subprocess.run(["sleep", str(0.25 * SCALE)])  # waits_for_child


def waits_for_lock(lock):
    lock.acquire()  # waits_for_lock


def reads_pipe(reader):
    os.read(reader, 1)  # reads_pipe


def reads_socket(end):
    end.recv(1)  # reads_socket


def selects(reader):
    select.select([reader], [], [])  # selects


def main():
    lock = threading.Lock()
    lock.acquire()
    reader, writer = os.pipe()
    other, other_writer = os.pipe()
    left, right = socket.socketpair()
    waits = [
        ("waits_for_lock", lambda: waits_for_lock(lock)),
        ("reads_pipe", lambda: reads_pipe(reader)),
        ("reads_socket", lambda: reads_socket(left)),
        ("selects", lambda: selects(other)),
    ]
    threads = [threading.Thread(target=timed, args=wait, name=wait[0]) for wait in waits]
    for thread in threads:
        thread.start()
    for wait in (sleeps, sleeps_shortly, waits_for_child):
        timed(wait.__name__, wait)
    lock.release()
    os.write(writer, b"x")
    os.write(other_writer, b"x")
    right.send(b"x")
    for thread in threads:
        thread.join()
    print(json.dumps(waited))


main()
