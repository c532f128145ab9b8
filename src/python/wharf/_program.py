# SPDX-License-Identifier: Apache-2.0
"""The rest of wharf: any command of the program, its JSON document as Python has it."""
import json
import os
import shutil
import subprocess

from . import _errors

_LEVELS = 4  # PREFIX/lib/python3/dist-packages/wharf, or build/release/python/wharf.


def _program():
    named = os.environ.get("WHARF_PROGRAM")
    if named:
        return named
    folder = os.path.dirname(os.path.abspath(__file__))
    for _ in range(_LEVELS):
        folder = os.path.dirname(folder)
        path = os.path.join(folder, "bin", "wharf")
        if os.access(path, os.X_OK):
            return path
    path = shutil.which("wharf")
    if path is None:
        raise _errors.EnvironmentFailure(
            "the program wharf is neither beside this package nor in PATH, expected the Debian package wharf, or "
            "WHARF_PROGRAM to name it")
    return path


def command(*arguments):
    """Runs `wharf ARGUMENT... --json` and returns its document: command("study", "run", "openurma/table6").

    Raises what its exit code means, with its sentence and with the document, if there is one, as `results`.
    """
    words = [os.fspath(each) if isinstance(each, os.PathLike) else str(each) for each in arguments]
    program = _program()
    try:
        ended = subprocess.run([program, *words, "--json", "--quiet"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise _errors.EnvironmentFailure(f"{program}: {error.strerror}, expected the program wharf") from None
    document = None
    if ended.stdout:
        try:
            document = json.loads(ended.stdout)
        except ValueError:
            document = ended.stdout
    if ended.returncode:
        lines = [line.removeprefix("wharf: ") for line in ended.stderr.splitlines() if line]
        code = ended.returncode if ended.returncode > 0 else _errors.Bug.exit_code
        raise _errors.of(code, "; ".join(lines), document)
    return document


def _listed(what):
    return command("list", what)[what]


def names(what):
    """The names of what there is: "scenarios", "profiles", "studies", "stacks", "workloads", "traces", "litmus", ..."""
    return [each["name"] for each in _listed(what)]


def keys():
    """Every key of a scenario: dicts with name, type, unit, default, least, most, choices, meaning."""
    return _listed("keys")
