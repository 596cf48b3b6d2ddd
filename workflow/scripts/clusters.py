"""Group the heads of a model by how alike their rows are, with and without the sink.

Reads a model's place and a text. Writes four tables (Parquet): the heads' map, what
each map is like, how far the two conventions agree, and what the sink explains.
"""

from pathlib import Path

from maa.audit.clusters import Settings, cluster, head_distances
from maa.audit.command import read, reading_parser
from maa.cli import run
from maa.files import write_table

OUTPUTS = ("layouts", "compared", "explained")


def main() -> None:
    """Read, cluster, write."""
    parser = reading_parser(__doc__)
    for name in OUTPUTS:
        parser.add_argument(f"--{name}", type=Path, required=True, help="to write")
    arguments = parser.parse_args()
    chosen, what = arguments.settings, read(arguments)
    rows = {name: chosen[name] for name in ("measures", "rows", "first_row", "seed")}
    distances = head_distances(what.pretrained, what.texts, what.sinks, **rows)
    names = ("most", "method", "permutations", "seed")
    found = cluster(distances, Settings(**{name: chosen[name] for name in names}))
    write_table(arguments.output, found.heads)
    for name in OUTPUTS:
        write_table(getattr(arguments, name), getattr(found, name))


if __name__ == "__main__":
    run(main)
