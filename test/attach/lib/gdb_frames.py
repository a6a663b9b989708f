# gdb_frames.py - prints the frames of all threads as gdb has them, one a line: native id, function, file of the function.
# Functions that were inlined or have called another at their end are left out: the machine stack does not have them. So are names by debug information: the symbol table
# decides, for every reader the same.
#
#   gdb -p PID -batch -x gdb_frames.py

import re
import gdb


def function_at(address):
    text = gdb.execute("info symbol %#x" % address, to_string=True)
    match = re.match(r"(\S+)", text) if " in section " in text else None
    return match.group(1) if match else "?"


def frames_of(thread):
    thread.switch()
    frame = gdb.newest_frame()
    exact = True
    while frame:
        if frame.type() == gdb.SIGTRAMP_FRAME:
            print("frame", thread.ptid[1], "(signal", "-")
            exact = True
        elif frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            address = frame.pc() if exact else frame.pc() - 1
            print("frame", thread.ptid[1], function_at(address), gdb.solib_name(address) or "-")
            exact = False
        frame = frame.older()


for setting in ("pagination off", "print demangle off", "print asm-demangle off", "backtrace past-main on", "demangle-style none"):
    gdb.execute("set " + setting)
for each in gdb.selected_inferior().threads():
    frames_of(each)
