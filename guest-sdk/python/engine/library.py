"""Writes the library of the engine: python3.13 library.py LIB ENGINE OUT. It compiles what a sandboxed provider can use of Python's library."""
import marshal
import pathlib
import struct
import sys

# Of no use without processes, threads, sockets, terminals, or a screen.
LEFT_OUT = {
    "__hello__", "__phello__", "_android_support", "_aix_support", "_apple_support", "_ios_support", "_osx_support", "_pyrepl", "antigravity", "bdb", "cProfile", "cmd", "code",
    "ctypes", "curses", "dbm", "doctest", "ensurepip", "idlelib", "mailbox", "multiprocessing", "pdb", "pickletools", "profile", "pstats", "pty", "pydoc", "pydoc_data",
    "rlcompleter", "site-packages", "smtplib", "sqlite3", "ssl", "test", "this", "tkinter", "tty", "turtle", "turtledemo", "unittest", "venv", "webbrowser", "wsgiref",
}


def main(lib, engine, out):
    lib, engine, parts = pathlib.Path(lib), pathlib.Path(engine), []

    def add(name, path, package):
        code = marshal.dumps(compile(path.read_bytes(), f"<frozen {name}>", "exec", dont_inherit=True, optimize=2))
        encoded = name.encode() + b"\0"
        parts.append(struct.pack("<III", len(encoded), len(code), package) + encoded + code)

    for path in sorted(lib.rglob("*.py")):
        names = path.relative_to(lib).with_suffix("").parts
        if LEFT_OUT & set(names[:1]) or {"test", "tests", "__main__"} & set(names):
            continue
        package = names[-1] == "__init__"
        add(".".join(names[:-1] if package else names), path, package)
    add("_husk_boot", engine / "boot.py", False)
    add("_socket", engine / "socket.py", False)
    pathlib.Path(out).write_bytes(b"".join(parts))


main(*sys.argv[1:])
