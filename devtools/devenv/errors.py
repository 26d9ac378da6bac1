"""What stops ./dev: said in one sentence that tells the reader what to do, without a traceback."""


class DevError(Exception):
    """A set-up or a command can't go on, for a reason that the message tells a person."""


class NotOnThisMachineError(DevError):
    """This machine isn't able to do it, and no set-up of ours could change that."""


class UsageError(DevError):
    """A command was called with words that it doesn't know; the exit code is 2, as usual for that."""
