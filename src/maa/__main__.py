"""Commands for users: ``python -m maa audit MODEL --text FILE``."""

import argparse
from pathlib import Path

from maa.cli import run
from maa.errors import UserError
from maa.files import write_table, write_text


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m maa", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    audit = commands.add_parser(
        "audit",
        help="measure the attention rows of a transformer on a text",
        description="Measure the attention rows of a transformer on a text. Writes a "
        "table per head and layer, one per passage, and a page to read.",
    )
    audit.add_argument("model", help="a hub's name, a folder, or a .gguf file")
    audit.add_argument(
        "--text", type=Path, required=True, nargs="+", help="text files, UTF-8"
    )
    audit.add_argument(
        "--output", type=Path, default=Path("audit"), help="folder (%(default)s)"
    )
    audit.add_argument(
        "--tokens", type=int, default=512, help="length of a passage (%(default)s)"
    )
    audit.add_argument(
        "--passages", type=int, default=50, help="the most passages (%(default)s)"
    )
    audit.add_argument(
        "--sinks",
        choices=("first", "special", "none"),
        help="tokens that count as sinks (first in causal models, special in others)",
    )
    audit.add_argument(
        "--p", type=float, default=1.1, help="order of gain and diversity (%(default)s)"
    )
    audit.add_argument(
        "--first-row", type=int, default=8, help="leave out rows before (%(default)s)"
    )
    audit.add_argument("--device", default="cpu", help="cpu or cuda (%(default)s)")
    audit.set_defaults(command=run_audit)
    return parser.parse_args()


def run_audit(arguments: argparse.Namespace) -> None:
    """Audit a model and write what was found."""
    from maa.audit.audit import audit, by_head
    from maa.audit.models import load_model
    from maa.audit.page import render
    from maa.audit.texts import passages

    if not 0 <= arguments.first_row < arguments.tokens:
        raise UserError(
            f"--first-row {arguments.first_row} leaves no row of {arguments.tokens} "
            "tokens; choose a smaller one"
        )
    texts = [_read(path) for path in arguments.text]
    pretrained = load_model(arguments.model, arguments.device)
    sinks = arguments.sinks or ("first" if pretrained.causal else "special")
    cut = passages(pretrained.tokenizer, texts, arguments.tokens, arguments.passages)
    measured = audit(pretrained, cut, sinks, arguments.p, arguments.first_row)
    heads = by_head(measured)
    name = Path(arguments.model).name
    page = render(
        *(name, measured, heads, arguments.tokens),
        *(sinks, arguments.p, arguments.first_row),
    )
    write_table(arguments.output / "passages.parquet", measured)
    csv = heads.to_csv(index=False, lineterminator="\n")
    write_text(arguments.output / "heads.csv", csv)
    write_text(arguments.output / "audit.html", page)
    print(f"done: {arguments.output / 'audit.html'}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be read as UTF-8 text ({error}); name a text file"
        ) from error


if __name__ == "__main__":
    arguments = parse()
    run(lambda: arguments.command(arguments))
