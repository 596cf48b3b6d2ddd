"""What Snakemake prints of a dry run, as text to read."""

from maa.errors import UserError


def finished(text: str, command: str) -> str:
    """Return the output of a dry run that came to its end.

    Args:
        text: what was read.
        command: the command whose output is expected, for the error.

    Raises:
        UserError: if it is anything else.
    """
    if "This was a dry-run" not in text and "Nothing to be done" not in text:
        raise UserError(
            "standard input is not a finished dry run; expected the output of "
            f"{command}, got: {text.strip()[-300:] or 'nothing'}"
        )
    return text
