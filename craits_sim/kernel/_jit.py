"""Compiling: the one decorator of the kernel, the CPU features it compiles for, and the cache on disk.

numba is told three things before the first function is compiled, and only here.

*CPU.* LLVM keeps to 256-bit vectors on many CPUs that have 512-bit ones. Where the CPU counts bits in 512-bit vectors
(AVX512-VPOPCNTDQ) the wide ones win (12-15 ns a turn beside 18-19), so that preference is taken out. The variables
``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` override both: ``NUMBA_CPU_NAME=x86-64-v2`` compiles without wide vectors.

*Cache.* numba decides whether a cached function is stale by the file that holds it alone and misses an edit in a
callee. So the cache folder is named by a digest of everything that decides the machine code: the sources of the kernel
and of the layouts it is compiled against, the versions of numba and llvmlite, the CPU and its features. When a new
folder is made, those that no start has used for 30 days are removed.

*Without a cache* (folder not writable, disk full) the kernel is compiled in memory at each start; `CACHE_PROBLEMS`
says why.
"""

import hashlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import llvmlite.binding as llvm
import numba
import numba.extending
import platformdirs
from numba.core.caching import FunctionCache

import craits_sim

F = TypeVar("F", bound=Callable[..., Any])

CACHE_PROBLEMS: list[str] = []
"""Why compiled code is not kept on disk; empty as long as it is."""

UNUSED_DAYS = 30
"""After so many days without a start that used it, a cache folder is one of an earlier version."""


def _choose_cpu() -> tuple[str, str]:
    """Set the CPU and the features that numba compiles for, and give them."""
    host_features = llvm.get_host_cpu_features()
    if numba.config.CPU_NAME is None:
        numba.config.CPU_NAME = llvm.get_host_cpu_name()
        if numba.config.CPU_FEATURES is None:
            features = host_features.flatten()
            if host_features.get("avx512vpopcntdq"):
                features += ",-prefer-256-bit"
            numba.config.CPU_FEATURES = features
    elif numba.config.CPU_FEATURES is None:
        numba.config.CPU_FEATURES = ""  # the features of the named CPU, not those of this one
    return numba.config.CPU_NAME, numba.config.CPU_FEATURES


def _source_digest(cpu: tuple[str, str]) -> str:
    package = Path(craits_sim.__file__).parent
    digest = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, cpu)).encode())
    for source in [
        *(package / f"{name}.py" for name in ("bots", "encode", "features", "results", "view")),
        *sorted((package / "kernel").glob("*.py")),
    ]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _note_problem(folder: Path, error: OSError) -> None:
    CACHE_PROBLEMS.append(f"{folder}: {error.strerror or error}")


def _choose_cache(digest: str) -> Path | None:
    """Set numba's cache folder and give it; None where it cannot be written."""
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("craits_sim")
    folder = Path(root) / f"kernel-{digest}"
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(1 << 20))  # about the size of a compiled kernel
            probe.flush()
        os.utime(folder)  # a start that only reads would leave no trace
    except OSError as error:
        _note_problem(folder, error)
        return None
    if is_new:
        _remove_unused(folder.parent)
    numba.config.CACHE_DIR = str(folder)
    return folder


def _remove_unused(root: Path) -> None:
    """Remove the cache folders that were last used more than `UNUSED_DAYS` ago; other processes may do so at once."""
    oldest = time.time() - UNUSED_DAYS * 24 * 60 * 60
    for folder in root.glob(f"kernel-{'[0-9a-f]' * 16}*"):
        with suppress(OSError):  # another process was faster
            if folder.stat().st_mtime < oldest:
                # Renamed first: who starts now finds all of it or nothing. What a kill leaves has a name that matches.
                removed = folder.rename(folder.with_name(f"{folder.name}-{secrets.token_hex(4)}"))
                shutil.rmtree(removed, ignore_errors=True)


CPU = _choose_cpu()
"""Name and features of the CPU that the kernel is compiled for."""

CACHE_FOLDER = _choose_cache(_source_digest(CPU))
"""Where compiled code is kept, or None if it is compiled anew at each start."""


class _Cache(FunctionCache):
    """numba's cache of one function, but no failure of the disk is one of the program."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # numba numbers the files of a function. Two processes that compile it at once, for tables of different sizes,
        # would give their files the same name and later load each other's.
        self._cache_file._data_name_pattern = f"{self._impl.filename_base}.{{number}}-{secrets.token_hex(4)}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file: pickle may raise anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if CACHE_PROBLEMS:
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _note_problem(Path(self.cache_path).parent, error)


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""How everything is compiled: without Python's lock, without checks for division by zero, without reference counts."""


def compiled(function: F) -> F:
    """Compile a function of the kernel; it releases Python's global lock while it runs."""
    decorated: Any = numba.njit(function, **_OPTIONS)
    if CACHE_FOLDER is not None:
        decorated._cache = _Cache(function)
    return cast(F, decorated)


def inlined(function: F) -> F:
    """Compile a small function so that LLVM always puts it into its callers, loops over lanes included."""
    decorated: F = numba.njit(function, **_OPTIONS, forceinline=True)
    return decorated


def by_build(function: F) -> Callable[[Callable[..., Any]], None]:
    """Let what a function does be chosen by the types of its arguments, when compiling.

    What a build does not need is then not compiled for it. The decorated function is given the types of the arguments
    and gives the function to compile for them, with the same names of arguments.
    """
    return numba.extending.overload(function, jit_options={**_OPTIONS, "forceinline": True})
