"""A dialogue with the user of a terminal."""
import getpass
import os
import sys
import termios

print(sys.stdin.isatty(), os.get_terminal_size(), os.ttyname(0) == os.ttyname(1), os.tcgetpgrp(0) == os.getpgrp())
try:
    import readline
except ImportError:
    pass
name = input("name? ")
print("hello", name)
secret = getpass.getpass("secret? ")
print(len(secret), termios.tcgetattr(0)[3] & termios.ECHO != 0)
for line in sys.stdin:
    print("line", line.strip())
print("the end")
