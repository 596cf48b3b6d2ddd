"""Take heads out by what a criterion says of their rows.

Reads a causal model's place, a text, and the measures of the model's heads on the part
of the text that is measured on. Writes the perplexity of each variant on the part that
was held back (Parquet).
"""

from pathlib import Path

from maa.audit.audit import by_head
from maa.audit.command import read, reading_parser
from maa.audit.pruning import prune
from maa.cli import run
from maa.files import read_table, write_table


def main() -> None:
    """Read, prune, write."""
    parser = reading_parser(__doc__)
    parser.add_argument("--measured", type=Path, required=True, help="of its heads")
    arguments = parser.parse_args()
    chosen, what = arguments.settings, read(arguments)
    heads = by_head(read_table(arguments.measured))
    names = ("fraction", "draws", "seed")
    found = prune(
        what.pretrained, heads, what.held, **{name: chosen[name] for name in names}
    )
    write_table(arguments.output, found)


if __name__ == "__main__":
    run(main)
