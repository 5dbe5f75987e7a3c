"""Windows, as far as this system can be made to look like it: `begin` is for processes of their own.

What Windows does not have is taken away (fork, its locks and limits, most signals, symbolic links, UTF-8 where none is
named), what it refuses is refused (names of files, and renaming or removing files that are open or in memory), and our
own modules take their branches for it. Libraries take theirs for this system.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import signal
import sys
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OURS = ("bdt_core", "bdt_pipeline")
MISSING = ("fcntl", "grp", "pwd", "resource", "termios")
"""Modules; libraries for this system may still have them."""
LACKS = {
    "os": ("fork", "killpg", "sysconf", "getuid", "getpgid", "setsid", "sched_getaffinity", "O_NOFOLLOW", "mkfifo"),
    "signal": ("SIGHUP", "SIGKILL", "SIGALRM", "SIGPIPE", "setitimer"),
}
_NO_NAME = re.compile(r'[<>:"|?*\x00-\x1f]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)', re.IGNORECASE)
_KERNELS = ("/proc/", "/dev/", "/sys/")


class Elsewhere(importlib.abc.MetaPathFinder):
    """Loads our modules as on Windows, without what they cannot import there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(OURS):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> types.CodeType:
        source = Path(self.path).read_bytes().replace(b"sys.platform", b'"win32"')
        return compile(source, self.path, "exec", dont_inherit=True)


class _Lacking(types.ModuleType):
    """A module as our modules find it on Windows."""

    def __init__(self, real: types.ModuleType, lacks: tuple[str, ...], has: dict[str, Any]) -> None:
        super().__init__(real.__name__)
        self.__dict__.update({name: value for name, value in vars(real).items() if name not in lacks} | has)


def importing(real: Any) -> Any:
    """An import that does not find for our modules what Windows does not have."""
    lacking = {
        "os": _Lacking(os, LACKS["os"], {}),
        "signal": _Lacking(signal, LACKS["signal"], {"SIGBREAK": signal.SIGQUIT}),
    }

    def imported(name: str, names: Any = None, *more: Any, **others: Any) -> Any:
        if not str((names or {}).get("__name__", "")).startswith(OURS):
            return real(name, names, *more, **others)
        if name in MISSING:
            raise ModuleNotFoundError(f"{name} is not there", name=name)
        return lacking.get(name) or real(name, names, *more, **others)

    return imported


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what Windows refuses, in every library."""
    if event in ("os.symlink", "os.fork", "os.killpg"):
        raise OSError(f"{event} is not there")
    if event in ("open", "os.mkdir"):
        _refuse_name(arguments[0])
    elif event == "os.rename":
        source, target = arguments[:2]
        _refuse_name(target)
        for one in (source, target):
            _refuse_open(_place(one, -1))
    elif event == "os.remove":
        _refuse_open(_place(arguments[0], arguments[1]))


def _refuse_name(path: Any) -> None:
    if isinstance(path, int) or path is None:
        return
    written = os.fsdecode(path)
    if written.startswith(_KERNELS):
        return
    for name in written.split("/"):
        if name not in ("", ".", "..") and _NO_NAME.search(name):
            raise OSError(22, "Invalid argument", written)


def _place(path: Any, folder: int) -> str:
    written = os.fsdecode(path)
    if folder >= 0:
        written = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), written)  # noqa: PTH118, PTH115
    return os.path.abspath(written)  # noqa: PTH100


def _refuse_open(place: str) -> None:
    held = set()
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            held.add(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
    held |= {line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()}
    if place in held:
        raise PermissionError(13, "The process cannot access the file: it is open", place)


def begin() -> None:
    """Take away, refuse, and load our modules so from here on."""
    warnings.filterwarnings("error", category=EncodingWarning, module=r"bdt_(core|pipeline)\b")
    builtins.__import__ = importing(builtins.__import__)
    sys.meta_path.insert(0, Elsewhere())
    sys.addaudithook(refuse)
