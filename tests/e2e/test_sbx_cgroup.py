"""sbx run --memory and --pids-limit. They need cgroup v2 with its controllers, given to an ordinary
user; few machines that run tests have that. So they run on another kernel, User Mode Linux, which
has all of it: guest_sbx_cgroup.py, by pytest, as the only thing that it does."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT as REPO

LINUX = shutil.which("linux.uml")
GUEST = pathlib.Path(__file__).with_name("guest_sbx_cgroup.py")
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 SBX_BUILD={build}
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t tmpfs tmp /var/tmp &&
	mount -t tmpfs run /run && mkdir -p /dev/pts /dev/shm && mount -t tmpfs shm /dev/shm &&
	mount -t devpts -o ptmxmode=666 pts /dev/pts && ip link set lo up &&
	mount -t cgroup2 cgroup /sys/fs/cgroup && cd {repo} &&
	{python} -B -m pytest -p no:cacheprovider --color=no -q {guest} 2>&1
halt -f -p >/dev/null 2>&1
"""


@pytest.mark.skipif(LINUX is None, reason="user-mode-linux is not installed")
def test_on_a_kernel_that_has_cgroups(public_dir):
    init = public_dir / "init"
    words = {"build": BUILD, "repo": REPO, "python": sys.executable, "guest": GUEST}
    init.write_text(INIT.format(**{k: shlex.quote(str(v)) for k, v in words.items()}))
    init.chmod(0o755)
    shown = subprocess.run(
        [LINUX, "mem=1G", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"]
        + [f"init={init}", "con=null", "con0=null,fd:1", "con1=null"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
    ).stdout
    wanted = len(re.findall(r"^def test_", GUEST.read_text(), re.M))
    assert re.search(rf"^{wanted} passed in ", shown, re.M), shown
