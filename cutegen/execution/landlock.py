"""Landlock: which files a process may still read and write, from now on and for good.

The kernel's own interface (Documentation/userspace-api/landlock.rst), called through ctypes. It
needs Linux 5.13 and no privilege. Like the worker, this imports the standard library only.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from enum import IntFlag

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_TCP = 0b11  # bind and connect, from version 4 on
_SCOPE_SIGNALS = 0b10  # from version 6 on
_FIRST_WITH_TCP = 4
_FIRST_WITH_SCOPES = 6


class Access(IntFlag):
    """``LANDLOCK_ACCESS_FS_*``; what is not granted below some path is refused."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13  # version 2
    TRUNCATE = 1 << 14  # version 3; version 5 adds ioctl, which a GPU is driven by


READ = Access.READ_FILE | Access.READ_DIR
DEVICE = Access.READ_FILE | Access.WRITE_FILE
FOLDER = (
    READ
    | Access.WRITE_FILE
    | Access.MAKE_REG
    | Access.MAKE_DIR
    | Access.REMOVE_FILE
    | Access.REMOVE_DIR
    | Access.TRUNCATE
)
_OF_FILES = Access.EXECUTE | Access.WRITE_FILE | Access.READ_FILE | Access.TRUNCATE
_NEWER = {2: Access.REFER, 3: Access.TRUNCATE}


def landlock_version() -> int:
    """The version the kernel speaks; 0 where there is none."""
    found = int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))
    return max(found, 0)


def restrict_files(grants: Iterable[tuple[str, Access]]) -> int:
    """Allow this thread, and those it starts, ``grants`` and no other file.

    It may not bind or connect TCP sockets, signal or trace processes outside, where the
    kernel's version knows how to refuse that. Paths that do not exist are left out.

    Returns:
        The version in force; 0 where the kernel has no Landlock, and nothing is refused.

    Raises:
        OSError: The kernel has Landlock and refuses the rules.
    """
    version = landlock_version()
    if not version:
        return 0
    handled = Access((1 << 15) - 1)
    for first, access in _NEWER.items():
        if version < first:
            handled &= ~access
    attributes = struct.pack(
        "=QQQ",
        handled,
        _TCP if version >= _FIRST_WITH_TCP else 0,
        _SCOPE_SIGNALS if version >= _FIRST_WITH_SCOPES else 0,
    )
    known = 8 if version < _FIRST_WITH_TCP else 16 if version < _FIRST_WITH_SCOPES else 24
    ruleset = _call(_CREATE_RULESET, attributes[:known], ctypes.c_size_t(known), 0)
    try:
        for path, access in grants:
            _grant(ruleset, path, access & handled)
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), 0)
    finally:
        os.close(ruleset)
    return version


def _grant(ruleset: int, path: str, access: Access) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # nothing there to be granted
    try:
        if not os.path.isdir(f"/proc/self/fd/{beneath}"):  # noqa: PTH112 - no path to look at
            access &= _OF_FILES
        rule = struct.pack("=Qi", access, beneath)
        _call(_ADD_RULE, ctypes.c_int(ruleset), _PATH_BENEATH, rule, 0)
    finally:
        os.close(beneath)


def _call(number: int, *arguments: object) -> int:
    libc = _libc()
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
