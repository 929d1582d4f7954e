"""The package's one error, and the kind of it that has a way out."""


class Error(Exception):
    """A failure of the command ``profundo``, in its own sentence.

    Attributes:
        exit_code: The command's exit code: 1 for a failure, 2 for wrong usage, 4 where nothing
            passes the filter. ``None`` where the command could not be started.
        command: The words of the command line; empty where none was started.
    """

    def __init__(self, message, exit_code=None, command=()):
        # type: (str, int | None, tuple) -> None
        # All of them are arguments, so that the error can be pickled.
        Exception.__init__(self, message, exit_code, tuple(command))
        self.exit_code = exit_code
        self.command = tuple(command)

    def __str__(self):  # type: () -> str
        return str(self.args[0])


class NoProcess(Error):
    """The command could not be run, because this process may start no other one."""
