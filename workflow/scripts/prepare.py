"""Cut a data set into window, histories, splits and queries.

Reads ``source.json`` of a download and the raw files beside it. Writes the prepared
stream, which all later steps read, and a summary of what it holds. Section A.1 and
Table 2 of the paper.
"""

import argparse

from maa.cli import run, settings
from maa.domains import load_stage
from maa.files import write_json


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True, help="domain, as in ctdg")
    parser.add_argument("--source", required=True, help="source.json of the download")
    parser.add_argument(
        "--entry",
        required=True,
        type=settings,
        help="the data set's entry in datasets.yaml, as JSON",
    )
    parser.add_argument(
        "--settings",
        required=True,
        type=settings,
        help="the domain's prepare settings, as JSON",
    )
    parser.add_argument("--stream", required=True, help="stream to write")
    parser.add_argument("--summary", required=True, help="summary to write, JSON")
    return parser.parse_args()


def main() -> None:
    """Prepare the stream, then write it and its summary."""
    arguments = parse()
    stage = load_stage(arguments.domain, "prepare")
    stream = stage.prepare(arguments.source, arguments.entry, arguments.settings)
    stream.save(arguments.stream)
    write_json(arguments.summary, stage.summary(stream))


if __name__ == "__main__":
    run(main)
