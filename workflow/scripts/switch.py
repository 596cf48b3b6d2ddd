"""Switch a trained model to other norms, as it is and after a short training.

Reads a causal model's place and a text. Writes the perplexity on the part of the text
that was held back, by power and number of training steps (Parquet).
"""

from maa.audit.command import read, reading_parser
from maa.audit.switching import switch
from maa.cli import run
from maa.files import write_table


def main() -> None:
    """Read, switch, write."""
    arguments = reading_parser(__doc__).parse_args()
    chosen, what = arguments.settings, read(arguments)
    names = ("powers", "steps", "learning_rate", "seed")
    found = switch(
        what.pretrained,
        train=what.texts,
        test=what.held,
        **{name: chosen[name] for name in names},
    )
    write_table(arguments.output, found)


if __name__ == "__main__":
    run(main)
