# SPDX-License-Identifier: Apache-2.0
"""Captures, frame by frame."""
import os

from . import _errors, _wharf


def frames(file):
    """The frames of a capture (pcap or pcapng; plain, gz or xz), each a dict as in `wharf dissect --json`."""
    reader = _wharf.frames(os.fspath(file))
    if isinstance(reader, tuple):
        raise _errors.of(*reader)
    return _each(reader)


def _each(reader):
    while True:
        frame = reader.next()
        if frame is None:
            return
        if isinstance(frame, tuple):
            raise _errors.of(*frame)
        yield frame
