"""Compiling: the one decorator of the kernel, the CPU features it compiles for, and the cache on disk.

numba is told three things before the first function is compiled, and only here.

*CPU.* LLVM keeps to 256-bit vectors on many CPUs that have 512-bit ones. Where the CPU counts bits in 512-bit vectors
(AVX512-VPOPCNTDQ) the wide ones win (12-15 ns a turn beside 18-19), so that preference is taken out. The variables
``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` override both: ``NUMBA_CPU_NAME=x86-64-v2`` compiles without wide vectors.

*Cache.* numba decides whether a cached function is stale by the file that holds it alone and misses an edit in a
callee. So the cache folder is named by a digest of everything that decides the machine code: the sources of the kernel
and of the layouts it is compiled against, the versions of numba and llvmlite, the CPU and its features.

*Without a cache* (folder not writable, disk full) the kernel is compiled in memory at each start.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import llvmlite.binding as llvm
import numba
import platformdirs

import craits_sim

F = TypeVar("F", bound=Callable[..., Any])


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
    for source in [package / "encode.py", package / "results.py", *sorted((package / "kernel").glob("*.py"))]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _writable_folder(folder: Path) -> bool:
    """Whether ``folder`` exists, or can be made, and takes a file of the size of a compiled kernel."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(1 << 20))
            probe.flush()
    except OSError:
        return False
    return True


def _choose_cache(digest: str) -> Path | None:
    """Set numba's cache folder and give it; None where it cannot be written."""
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("craits_sim")
    folder = Path(root) / f"kernel-{digest}"
    if not _writable_folder(folder):
        return None
    numba.config.CACHE_DIR = str(folder)
    return folder


CPU = _choose_cpu()
"""Name and features of the CPU that the kernel is compiled for."""

CACHE_FOLDER = _choose_cache(_source_digest(CPU))
"""Where compiled code is kept, or None if it is compiled anew at each start."""


def compiled(function: F) -> F:
    """Compile a function of the kernel; it releases Python's global lock while it runs."""
    decorated: F = numba.njit(function, nogil=True, cache=CACHE_FOLDER is not None, error_model="numpy", _nrt=False)
    return decorated


def inlined(function: F) -> F:
    """Compile a small function so that LLVM always puts it into its callers, loops over lanes included."""
    decorated: F = numba.njit(function, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
    return decorated
