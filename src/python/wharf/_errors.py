# SPDX-License-Identifier: Apache-2.0
"""One exception for each exit code of the program wharf; interrupts are KeyboardInterrupt."""


class Error(Exception):
    """What ends a run or a command. str(error) is the sentence of the command line."""

    exit_code = 6

    def __init__(self, message, results=None):
        super().__init__(message)
        #: What there is all the same: Results of a run that stalled or does not keep what its scenario expects, the
        #: JSON document of a command; else None.
        self.results = results


class ExpectationFailed(Error):
    """Done, but something judged fails: an expectation, a study, a comparison."""

    exit_code = 1


class UsageError(Error):
    """Settings or arguments that contradict each other."""

    exit_code = 2


class InputError(Error):
    """Something named or contained is wrong: a file, a key, a value."""

    exit_code = 3


class EnvironmentFailure(Error):
    """No data, no memory, no permission, no program."""

    exit_code = 4


class Stalled(Error):
    """Nothing moves any more, or the time limit was reached; the sentence says who waits for whom."""

    exit_code = 5


class Bug(Error):
    """A bug of wharf."""

    exit_code = 6


_KINDS = (ExpectationFailed, UsageError, InputError, EnvironmentFailure, Stalled, Bug)
_BY_CODE = {kind.exit_code: kind for kind in _KINDS}
INTERRUPTED = 130


def of(exit_code, message, results=None):
    """The exception for an exit code that is not 0."""
    if exit_code == INTERRUPTED:
        return KeyboardInterrupt(message)
    return _BY_CODE.get(exit_code, Bug)(message, results)
