"""What a worker prints: drained for as long as it lives, kept within bounds."""

import os
import threading
from collections import deque
from select import select

_LOG_HALF = 32 << 10


class BoundedLog:
    """Drains a pipe for as long as it is open; keeps its first and its last 32 KiB."""

    def __init__(self, descriptor: int) -> None:
        """Start draining ``descriptor``, which the log owns from now on."""
        self._descriptor = descriptor
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._drain, name="cutegen-log", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while True:
            ready, _, _ = select([self._descriptor], [], [], 0.1)
            if ready:
                chunk = os.read(self._descriptor, 1 << 16)
                if not chunk:
                    break
                self._keep(chunk)
            elif self._stop.is_set():
                break
        os.close(self._descriptor)

    def _keep(self, chunk: bytes) -> None:
        room = _LOG_HALF - len(self._head)
        self._head += chunk[:room]
        rest = chunk[max(room, 0) :]
        if rest:
            self._tail.append(rest)
            self._tail_size += len(rest)
        while self._tail and self._tail_size - len(self._tail[0]) >= _LOG_HALF:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self._dropped += len(gone)

    def close(self) -> str:
        """Take what is left in the pipe, stop draining, and return the text."""
        self._stop.set()
        self._thread.join(timeout=2.0)
        tail = b"".join(self._tail)
        dropped = self._dropped + max(0, len(tail) - _LOG_HALF)
        middle = f"\n[{dropped} bytes left out]\n".encode() if dropped else b""
        return (bytes(self._head) + middle + tail[-_LOG_HALF:]).decode(errors="replace")
