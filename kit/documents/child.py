"""The child process that reads one document from standard input and writes it as JSON to standard output.

The child sets its own limits first, so that it ends even if its parent dies.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

MEMORY_BYTES: Final = 1_000_000_000
CPU_S: Final = 30


def limit_resources() -> None:
    """Limit this process to this much memory and processor time, and to no writing of files.

    The soft limit of time ends the process with SIGXCPU, before the hard one would with SIGKILL; so SIGKILL means that
    another process ended it.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def main(form: str, content_type: str) -> None:
    """Read a document; `form` is `text` or `article`."""
    limit_resources()
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from kit.documents.article import read_article
    from kit.documents.decoding import Unreadable
    from kit.documents.readable import read_document

    read = read_article if form == "article" else read_document
    try:
        answer = asdict(read(sys.stdin.buffer.read(), content_type))
    except Unreadable as error:
        answer = {"unreadable": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
