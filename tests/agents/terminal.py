"""A terminal for programs that want one: what they print is kept, what they ask it is answered."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

SEQUENCES = re.compile(rb"\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[\[(][0-9;?<>=]*[ -/]*[@-~]|\x1b[=>78M]")


class Terminal:
    """Starts a command on a terminal of 40 lines of 120 columns."""

    def __init__(self, command, **kwargs):
        self.fd, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

        def lead():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=lead,
            **kwargs,
        )
        os.close(other)
        self.raw = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # nobody has its other end any more
                return
            if not data:
                return
            self.raw += data
            if b"\x1b[6n" in data:
                self.type("\x1b[1;1R")
            if b"\x1b[c" in data:
                self.type("\x1b[?62;c")

    def type(self, text):
        os.write(self.fd, text.encode())

    @property
    def text(self):
        """Everything that was printed, without control sequences and runs of blanks."""
        plain = SEQUENCES.sub(b" ", self.raw).decode(errors="replace")
        return re.sub(r"\s+", " ", plain)

    def close(self):
        """After the last process on it has ended."""
        self.process.kill()
        self.process.wait()
        self._thread.join(10)
        os.close(self.fd)
