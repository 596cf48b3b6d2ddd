"""One file over HTTP: time limits, a bounded number of tries, errors as a phrase."""

import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests

USER_AGENT = "maa-workflow (mass-aware attention; research data download)"
CHUNK = 1 << 20
# worth another try: the server is busy or asks for patience
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

logger = logging.getLogger(__name__)


class SourceError(Exception):
    """Why one source could not be used; the message is a phrase, not a sentence."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server, and how often to ask.

    Attributes:
        connect: seconds until a connection must stand.
        read: seconds of silence after which a transfer counts as broken.
        attempts: tries per file.
        backoff: seconds before the second try; doubled before each further one.
    """

    connect: float = 10.0
    read: float = 60.0
    attempts: int = 3
    backoff: float = 2.0


def transfer(url: str, path: Path, patience: Patience) -> None:
    """Download ``url`` to ``path``; every try starts from an empty file.

    Raises:
        SourceError: naming the address, if the last try failed or another one would be
            in vain.
        OSError: if ``path`` cannot be written.
    """
    download = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=CHUNK,
        timeout=(patience.connect, patience.read),
        # identity: a .gz file must arrive as it is, and lengths must mean its bytes
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
    )
    for attempt in range(1, patience.attempts + 1):
        try:
            download(url, str(path), None)
            return
        except requests.RequestException as error:
            reason = describe(error, patience)
            if attempt == patience.attempts or not _transient(error):
                raise SourceError(f"{url}: {reason}") from error
        wait = patience.backoff * 2 ** (attempt - 1)
        logger.info("%s: %s; trying again in %g s", url, reason, wait)
        time.sleep(wait)


def _transient(error: requests.RequestException) -> bool:
    if isinstance(error, requests.HTTPError):
        return error.response is not None and error.response.status_code in BUSY
    return isinstance(
        error,
        requests.ConnectionError
        | requests.Timeout
        | requests.exceptions.ChunkedEncodingError,
    )


def describe(error: requests.RequestException, patience: Patience) -> str:
    """Say in a phrase what went wrong with a request."""
    text = str(error)
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}".rstrip()
    if isinstance(error, requests.ConnectTimeout):
        return f"no connection within {patience.connect:g} s"
    if isinstance(error, requests.Timeout) or "Read timed out" in text:
        return f"no data for {patience.read:g} s"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the transfer broke off before the end"
    if isinstance(error, requests.exceptions.SSLError):
        return "the secure connection (TLS) failed"
    if "NameResolutionError" in text:
        return "the host name could not be resolved"
    if "refused" in text:
        return "connection refused"
    if "RemoteDisconnected" in text or "Connection aborted" in text:
        return "the server closed the connection without an answer"
    return " ".join(f"{type(error).__name__}: {text}".split())
