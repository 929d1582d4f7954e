# What each program begins with: it says where the interpreter has its things, and then more, a line at a
# time, until it blocks.
import ctypes, os

def address(name):
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))

state_of = ctypes.pythonapi.PyGILState_GetThisThreadState
state_of.restype = ctypes.c_void_p

def say(*words):
    os.write(1, ("\t".join(map(str, words)) + "\n").encode("utf-8", "surrogatepass"))

say("interpreter", address("PyCode_Type"), address("_PyRuntime"))

