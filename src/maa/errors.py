"""The one exception that reaches a user as a sentence instead of a stack trace."""


class UserError(Exception):
    """Something the user can mend: a config value, a file, a download, a data set.

    The message is one sentence that names the file or key, what was found, what was
    expected, and what to do.
    """
