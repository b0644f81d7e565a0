"""Files that are whole or absent: written beside their place, and renamed at the end."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing_file(file: Path, what: str) -> Iterator[Path]:
    """Lend the path of a new file that takes the place of ``file`` after the block, and vanishes if it fails.

    A link stays, and what it leads to is replaced.

    Parameters
    ----------
    what
        What is written, for messages: ``the records``.

    Raises
    ------
    OSError
        If ``file`` is a folder, or cannot be written; an earlier file is untouched then.
    """
    file = file.resolve()
    temporary = file.with_name(f".{file.name}-{secrets.token_hex(6)}")
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        yield temporary
        temporary.replace(file)
    except OSError as error:
        # Libraries put their own words into strerror.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, f"{what} cannot be written here: {reason}", str(file)) from error
    finally:
        temporary.unlink(missing_ok=True)
