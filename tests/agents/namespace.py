"""Puts this process into a network namespace of its own, where loopback is the only address, so
that no packet of an agent leaves the machine. Started by root it takes a mount namespace, too, with
an empty place for the homes that the tests make, which ordinary users reach and nobody has to clean.
"""

import ctypes
import fcntl
import os
import pathlib
import socket
import struct
import subprocess

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def _unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")


def _loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(s, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def interfaces():
    return [name for _, name in socket.if_nameindex()]


def free_place(needed):
    """A directory of the system that lies above none of the needed ones."""
    for path in map(pathlib.Path, ("/home", "/mnt", "/srv", "/opt")):
        if path.is_dir() and not any(n.is_relative_to(path) for n in needed):
            return path
    raise FileNotFoundError("no directory is free for the homes of the tests")


def enter(needed):
    """Returns the place for homes, or None where a temporary directory will do. Called once, before
    there are threads. The capabilities that an ordinary user has in the new user namespace end
    with the next exec, so that bwrap sees an ordinary user."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        _unshare(CLONE_NEWNET | CLONE_NEWNS)
        place = free_place(needed)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "homes", place], check=True)
    else:
        place = None
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as f:
                f.write(text)
    _loopback_up()
    return place
