# SPDX-License-Identifier: Apache-2.0
"""wharf against Linux: perftest on Soft-RoCE in a machine of QEMU's, either one the client, with and without loss.

WHARF_SOFT_ROCE_ITERATIONS: messages of each run. WHARF_PROGRAM: the program."""

import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
WHARF = os.environ.get("WHARF_PROGRAM", str(TREE / "build/release/bin/wharf"))
ITERATIONS = int(os.environ.get("WHARF_SOFT_ROCE_ITERATIONS", "100"))
BOOT_PATIENCE = 240
RUN_PATIENCE = 60
SHELL_PATIENCE = 2 * RUN_PATIENCE  # What takes too long there ends by itself.
TESTS = ["write_lat", "read_lat", "send_lat", "atomic_lat", "write_bw", "read_bw", "send_bw", "atomic_bw"]


MACHINES_MOST = 3


class CannotBeHad(Exception):
    """The machine lacks something: one sentence."""


class Stalled(AssertionError):
    """The machine's shell, which ends what takes too long, says nothing any more: its kernel has locked up, which
    rdma_rxe of Linux 6.1 does now and then on one processor. That is no answer of wharf's."""


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Machine:
    """Linux with rxe0 at 10.77.0.2, on an Ethernet whose other end is `ethernet`, for wharf's --ethernet."""

    def __init__(self):
        own, peer = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM)
        self.ethernet = f"127.0.0.1:{own},127.0.0.1:{peer}"
        self.port = free_port(socket.SOCK_STREAM)
        self.log = tempfile.NamedTemporaryFile(suffix=".log")
        self.process = subprocess.Popen(
            [str(TREE / "tools/soft_roce_machine"), "run", "--frames", f"127.0.0.1:{own}", "--peer",
             f"127.0.0.1:{peer}", "--forward", str(self.port), "--log", self.log.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        self.told = []
        self.listener = threading.Thread(target=self._hear_errors, daemon=True)
        self.listener.start()
        self._until("ready: ", BOOT_PATIENCE)

    def _hear_errors(self):
        with self.process.stderr as errors:
            self.told += errors.read().splitlines()

    def _until(self, start, patience):
        lines = []
        limit = time.monotonic() + patience
        while not self.process.stdout.closed:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, limit - time.monotonic()))
            line = self.process.stdout.readline() if ready else ""
            if line.startswith(start):
                return lines, line[len(start):].strip()
            if line:
                lines.append(line)
                continue
            boot = pathlib.Path(self.log.name).read_text(errors="replace")[-4000:]
            self.end()
            self.listener.join()
            if self.process.returncode == 4:
                raise CannotBeHad(self.told[-1] if self.told else "no reason was given")
            raise Stalled(f"the machine says nothing any more: {''.join(lines)} {self.told} {boot}")
        raise Stalled("the machine has ended")

    def do(self, command, patience=SHELL_PATIENCE):
        """What a command of the machine's shell prints, and its exit code."""
        self.process.stdin.write(command + "\n")
        lines, code = self._until("= ", patience)
        return "".join(lines), int(code)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        for each in (self.process.stdin, self.process.stdout, self.log):
            if not each.closed:
                each.close()


def wharf_command(test, machine, *more):
    return [WHARF, "perf", "--perftest", test, "--ethernet", machine.ethernet, "--iterations", str(ITERATIONS),
            "--json", "--seed", "7", *more]


def listens(port):
    """Whether somebody of this host listens at `port`; a connection would be taken for the client."""
    wanted = f"{port:04X}"
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(":" + wanted) and fields[3] == "0A":
            return True
    return False


class SoftRoce(unittest.TestCase):
    machine = None
    machines = 1

    def judge(self, test, code, out, err, said, side):
        self.assertEqual(code, 0, f"{test}: wharf as the {side}: {err}\nperftest: {said}")
        result = json.loads(out)
        self.assertEqual(result["violations"], 0)
        self.assertEqual(result["undecodable"], 0, "an invariant CRC of rdma_rxe's is wrong")
        self.assertEqual(result["peer"], "10.77.0.2:4791")
        self.assertEqual(result["path_mtu"], 1024)
        if test.endswith("_lat") and test[:4] in ("writ", "send"):
            self.assertEqual(result["arrivals"], ITERATIONS)
            self.assertGreaterEqual(result["operations"], ITERATIONS - 1)
        elif side == "client":
            self.assertEqual(result["operations"], ITERATIONS)
        if side == "server" or test not in ("read_lat", "atomic_lat"):  # Their servers print no result.
            self.assertIn(f" {ITERATIONS} ", said, "perftest's line of results")
        figures = {key: result[key] for key in ("injected_losses", "requests_resent", "sequence_naks_received",
                                                "duplicate_requests", "timeouts")}
        print(f"{test:11} wharf {side}: {result['latency_us_p50']:9.1f} us median, "
              f"{result['bits_per_second'] / 1e6:7.2f} Mbit/s, {figures}", flush=True)
        return result

    def as_client(self, test, *more):
        machine = self.machine
        code = f"ib_{test} -n {ITERATIONS} -p {machine.port}"
        machine.do(f"(timeout {RUN_PATIENCE} {code} >/tmp/said 2>&1; echo exit $? >>/tmp/said) & "
                   f"until netstat -ltn | grep -q :{machine.port}; do sleep 0.1; done")
        ran = subprocess.run(wharf_command(test, machine, f"127.0.0.1:{machine.port}", *more),
                             capture_output=True, text=True, timeout=RUN_PATIENCE)
        said, _ = machine.do("for i in $(seq 50); do grep -q ^exit /tmp/said && break; sleep 0.1; done; "
                             f"cat /tmp/said; killall -q ib_{test}; true")
        result = self.judge(test, ran.returncode, ran.stdout, ran.stderr, said, "client")
        self.assertIn("exit 0", said)
        return result

    def as_server(self, test, *more):
        machine = self.machine
        port = free_port(socket.SOCK_STREAM)
        with subprocess.Popen(wharf_command(test, machine, "--listen", f"127.0.0.1:{port}", *more),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
            try:
                while ran.poll() is None and not listens(port):
                    time.sleep(0.05)
                said, code = machine.do(
                    f"timeout {RUN_PATIENCE} ib_{test} -n {ITERATIONS} -p {port} 10.0.2.2 2>&1")
                out, err = ran.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                ran.terminate()
                out, err = ran.communicate()
            except BaseException:
                ran.kill()  # Else leaving the block waits for it, and nobody will come.
                raise
        result = self.judge(test, ran.returncode, out, err, said, "server")
        self.assertEqual(code, 0, said)
        return result


def add_tests():
    def case(run, test, *more):
        def judged(self):
            try:
                result = run(self, test, *more)
            except Stalled as stalled:
                # Once more, on a fresh machine.
                if SoftRoce.machines == MACHINES_MOST:
                    raise
                print(f"machine {SoftRoce.machines} stalled in {test}: {str(stalled)[:200]}", flush=True)
                SoftRoce.machine.end()
                SoftRoce.machine = Machine()
                SoftRoce.machines += 1
                result = run(self, test, *more)
            if more:
                self.assertGreater(result["injected_losses"], 0)
        return judged

    for test in TESTS:
        # So that even a short run of latencies loses something.
        lossy = ("--loss", "1%" if test.endswith("_bw") else "3%")
        for side, run in (("client", SoftRoce.as_client), ("server", SoftRoce.as_server)):
            setattr(SoftRoce, f"test_{test}_{side}", case(run, test))
            setattr(SoftRoce, f"test_{test}_{side}_with_loss", case(run, test, *lossy))


add_tests()


def main():
    try:
        SoftRoce.machine = Machine()
    except CannotBeHad as reason:
        print(f"skipped: {reason}")
        return 77
    try:
        return 0 if unittest.main(exit=False, verbosity=0).result.wasSuccessful() else 1
    finally:
        SoftRoce.machine.end()


if __name__ == "__main__":
    sys.exit(main())
