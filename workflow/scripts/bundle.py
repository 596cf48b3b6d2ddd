"""Write one archive of a study's results, from which others can verify every number.

Reads the results, the records of the data, the prepared streams and the logs of the
trainings. Writes an archive: results, the exact configuration, and a manifest with the
code's fingerprints, versions, machines and checksums.
"""

import argparse
import shutil
from pathlib import Path

import yaml

from maa.bundle.manifest import manifest
from maa.bundle.pack import pack
from maa.cli import run, settings
from maa.files import write_text


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    several = {"type": Path, "nargs": "+", "required": True}
    parser.add_argument("--results", **several, help="files of the bundle")
    parser.add_argument("--claims", type=Path, required=True, help="claims.yaml")
    parser.add_argument("--sources", **several, help="source.json of each data set")
    parser.add_argument("--streams", **several, help="prepared streams, same order")
    parser.add_argument(
        "--logs", type=Path, required=True, help="folder of the trainings' logs"
    )
    parser.add_argument(
        "--settings", type=settings, required=True, help="JSON: config and code"
    )
    parser.add_argument(
        "--provenance", type=Path, required=True, help="folder for study and claims"
    )
    parser.add_argument("--output", type=Path, required=True, help="archive to write")
    return parser.parse_args()


def main() -> None:
    """Put the study beside the results, list all, and pack."""
    arguments = parse()
    study = arguments.provenance / "study.yaml"
    claims = arguments.provenance / "claims.yaml"
    write_text(study, yaml.safe_dump(arguments.settings["config"], sort_keys=False))
    shutil.copyfile(arguments.claims, claims)
    files = [*arguments.results, study, claims]
    logs = sorted(arguments.logs.rglob("*.log"))
    listed = manifest(
        files, arguments.sources, arguments.streams, logs, arguments.settings
    )
    pack(arguments.output, files, listed)


if __name__ == "__main__":
    run(main)
