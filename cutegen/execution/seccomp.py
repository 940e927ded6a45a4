"""A system-call filter: no network, no other process, no way out of the process group.

Classic BPF as Documentation/userspace-api/seccomp_filter.rst describes it, through ctypes. It
knows x86-64 only; elsewhere nothing is filtered, and ``cutegen doctor`` says so. Like the
worker, this imports the standard library only.
"""

import ctypes
import errno
import os
import platform
import struct

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP = 317
_SET_FILTER, _ALL_THREADS = 1, 1
_ARCHITECTURE = 0xC000003E  # AUDIT_ARCH_X86_64
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data

_AF_UNIX = 1
_CLONE_THREAD = 0x10000
_NEW_CONTENT = os.O_CREAT | os.O_TRUNC

_REFUSED = {
    "network": {"connect": 42, "accept": 43, "bind": 49, "listen": 50, "accept4": 288},
    "processes": {"fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "setpgid": 109}
    | {"setsid": 112, "setrlimit": 160, "unshare": 272, "setns": 308},
    "others": {"ptrace": 101, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297}
    | {"process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_open": 434}
    | {"pidfd_getfd": 438, "pidfd_send_signal": 424, "process_madvise": 440}
    | {"shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240},
    "kernel": {"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "move_mount": 429}
    | {"open_tree": 428, "fsopen": 430, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323}
    | {"add_key": 248, "request_key": 249, "keyctl": 250, "io_uring_setup": 425, "reboot": 169}
    | {"init_module": 175, "finit_module": 313, "kexec_load": 246, "settimeofday": 164}
    | {"clock_settime": 227, "open_by_handle_at": 304, "mknod": 133, "mknodat": 259},
}
_REFUSED_WITHOUT_LANDLOCK = {"creat": 85, "unlink": 87, "unlinkat": 263, "rename": 82} | {
    "renameat": 264,
    "renameat2": 316,
    "mkdir": 83,
    "mkdirat": 258,
    "rmdir": 84,
    "link": 86,
    "linkat": 265,
    "symlink": 88,
    "symlinkat": 266,
    "truncate": 76,
    "chmod": 90,
    "fchmodat": 268,
    "chown": 92,
    "fchownat": 260,
}
_ABSENT = {"clone3": 435, "openat2": 437}  # their arguments lie in memory, which BPF cannot read


def filter_system_calls(*, files: bool) -> bool:
    """Refuse this process, all of its threads, whatever a kernel launch does not need.

    Args:
        files: Also refuse creating, renaming and removing files: for where Landlock is absent.

    Returns:
        Whether the filter is in force.

    Raises:
        OSError: The kernel knows filters, and refuses this one.
    """
    if platform.machine() != "x86_64":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    program = b"".join(_program(files=files))
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    if libc.syscall(_SECCOMP, _SET_FILTER, _ALL_THREADS, header):
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL):
            return False
        raise OSError(number, f"seccomp: {os.strerror(number)}")
    return True


def _program(*, files: bool) -> list[bytes]:
    refuse, unknown = _return(errno.EPERM), _return(errno.ENOSYS)
    pid = os.getpid()
    program = [
        _instruction(_LOAD, _ARCH),
        _instruction(_EQUAL, _ARCHITECTURE, 1, 0),
        refuse,
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _X32, 0, 1),
        refuse,
    ]
    refused = [number for group in _REFUSED.values() for number in group.values()]
    refused += _REFUSED_WITHOUT_LANDLOCK.values() if files else ()
    for number in refused:
        program += [_instruction(_EQUAL, number, 0, 1), refuse]
    for number in _ABSENT.values():
        program += [_instruction(_EQUAL, number, 0, 1), unknown]
    program += _unless(41, 0, _EQUAL, _AF_UNIX)  # socket
    program += _unless(62, 0, _EQUAL, pid) + _unless(234, 0, _EQUAL, pid)  # kill, tgkill
    program += _unless(56, 0, _ANY_BIT, _CLONE_THREAD)  # clone
    program += _unless(302, 2, _EQUAL, 0)  # prlimit64 that sets something
    if files:
        program += _if(2, 1, _ANY_BIT, _NEW_CONTENT) + _if(257, 2, _ANY_BIT, _NEW_CONTENT)
    return [*program, _instruction(_RETURN, _ALLOW)]


def _unless(number: int, argument: int, test: int, value: int) -> list[bytes]:
    """Refuse a call unless the low half of an argument passes a test."""
    return [
        _instruction(_EQUAL, number, 0, 4),
        _instruction(_LOAD, _ARGUMENTS + 8 * argument),
        _instruction(test, value, 1, 0),
        _return(errno.EPERM),
        _instruction(_LOAD, _NUMBER),
    ]


def _if(number: int, argument: int, test: int, value: int) -> list[bytes]:
    """Refuse a call if the low half of an argument passes a test."""
    return [
        _instruction(_EQUAL, number, 0, 4),
        _instruction(_LOAD, _ARGUMENTS + 8 * argument),
        _instruction(test, value, 0, 1),
        _return(errno.EPERM),
        _instruction(_LOAD, _NUMBER),
    ]


def _return(error: int) -> bytes:
    return _instruction(_RETURN, _FAIL | error)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One ``struct sock_filter``."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
