"""CPU seconds and memory of the console's processes, the database's included, from /proc."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Iterable

import psutil

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def tree(roots: Iterable[int]) -> list[psutil.Process]:
    """Return the processes `roots` and all that they began."""
    found: dict[int, psutil.Process] = {}
    for pid in roots:
        try:
            root = psutil.Process(pid)
            for process in [root, *root.children(recursive=True)]:
                found[process.pid] = process
        except psutil.NoSuchProcess:
            continue
    return list(found.values())


def cpu_s(roots: Iterable[int]) -> float:
    """Return the CPU seconds that the trees have used, those of ended children included."""
    total = 0.0
    for process in tree(roots):
        try:
            words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(word) for word in words[11:15]) * _TICK_S
    return total


def pss_mib(roots: Iterable[int]) -> dict[str, float]:
    """Return the proportional memory of the trees by the name of the program: what is shared counts once."""
    kib: dict[str, int] = {}
    for process in tree(roots):
        try:
            name = process.name()
            lines = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        except (OSError, psutil.NoSuchProcess):
            continue
        kib[name] = kib.get(name, 0) + sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return {name: size / 1024 for name, size in kib.items()}


class Peak(threading.Thread):
    """Watches the memory of the trees until it is asked for the peak."""

    def __init__(self, roots: Iterable[int], every_s: float = 2.0) -> None:
        super().__init__(daemon=True)
        self._roots, self._every_s = list(roots), every_s
        self._ended = threading.Event()
        self._most: dict[str, float] = {}

    def run(self) -> None:
        while True:
            now = pss_mib(self._roots)
            if sum(now.values()) > sum(self._most.values()):
                self._most = now
            if self._ended.wait(self._every_s):
                return

    def end(self) -> dict[str, float]:
        """Return the memory by program, in MiB, at the moment when it was greatest in all."""
        self._ended.set()
        self.join()
        return self._most
