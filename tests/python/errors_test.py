# SPDX-License-Identifier: Apache-2.0
"""Each exit code is an exception of its own, with the sentence of the command line; Ctrl-C ends runs."""
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

import wharf

PROGRAM = os.environ["WHARF_PROGRAM"]
LONG = {"run.operations": 2_000_000_000, "run.record_operations": 0}  # Hours.


def sentence_of(*words):
    """What the program says, without its name, and how it ended."""
    ended = subprocess.run([PROGRAM, *words, "--quiet"], capture_output=True, text=True, check=False)
    return ended.returncode, "; ".join(line.removeprefix("wharf: ") for line in ended.stderr.splitlines())


def changed(variables):
    """The environment with `variables` until the end of a with."""

    class Changed:
        def __enter__(self):
            self.before = {name: os.environ.get(name) for name in variables}
            os.environ.update(variables)

        def __exit__(self, *_):
            for name, value in self.before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    return Changed()


class Errors(unittest.TestCase):
    def assert_same_end(self, kind, name, keys):
        """run() raises `kind`, and the command line ends with its exit code and sentence."""
        with self.assertRaises(kind) as raised:
            wharf.run(name, keys)
        code, sentence = sentence_of(
            "run", name, *[word for key, value in keys.items() for word in ("--set", f"{key}={value}")])
        self.assertEqual(code, kind.exit_code)
        self.assertEqual(str(raised.exception), sentence)
        return raised.exception

    def test_an_expectation_that_fails(self):
        error = self.assert_same_end(wharf.ExpectationFailed, "incast", {"traffic.ranks": 5})
        self.assertEqual(error.results.summary["finished"], 4)
        results = wharf.run("incast", {"traffic.ranks": 5}, check=False)
        self.assertEqual("; ".join(results.failures), str(error))

    def test_what_is_named_or_contained_is_wrong(self):
        for name, keys in [
            ("fetch-64-byte", {}),
            ("no/such.toml", {}),
            ("incast", {"fabric.controler": "swift"}),
            ("incast", {"fabric.controller": "swfit"}),
            ("fetch-64-bytes", {"model.link.delay": "100"}),
            ("fetch-64-bytes", {"model.profile": "connectx7-clas"}),
            ("fetch-64-bytes", {"run.operations": -1}),
        ]:
            with self.subTest(name, keys=keys):
                error = self.assert_same_end(wharf.InputError, name, keys)
                self.assertIsNone(error.results)
        with self.assertRaisesRegex(wharf.InputError, "^here:1:"):
            wharf.run("here", text="a =")
        with self.assertRaisesRegex(wharf.InputError, "empty, expected TOML"):
            wharf.run(text=" ")
        with self.assertRaisesRegex(wharf.InputError, "expected a folder that wharf run --out wrote"):
            wharf.read("no/such/folder")

    def test_a_check_refuses_what_a_run_does(self):
        with self.assertRaisesRegex(wharf.InputError, "did you mean fabric.controller"):
            wharf.Scenario("incast", {"fabric.controler": "swift"}).check()

    def test_captures_that_are_none(self):
        with self.assertRaises(wharf.InputError) as raised:
            list(wharf.frames("README.md"))
        self.assertEqual((3, str(raised.exception)), sentence_of("dissect", "README.md"))

    def test_settings_that_contradict_each_other(self):
        with self.assertRaises(wharf.UsageError):
            wharf.Scenario()
        with self.assertRaises(wharf.UsageError) as raised:
            wharf.command("run", "--nonsense")
        self.assertEqual((2, str(raised.exception)), sentence_of("run", "--nonsense"))

    def test_an_environment_without_data(self):
        with tempfile.TemporaryDirectory() as empty, changed({"WHARF_DATA": empty}):
            self.assert_same_end(wharf.EnvironmentFailure, "scenarios/incast.toml", {})
            self.assert_same_end(wharf.EnvironmentFailure, "incast", {})
        with changed({"WHARF_PROGRAM": "/no/such/program"}):
            with self.assertRaisesRegex(wharf.EnvironmentFailure, "/no/such/program: No such file"):
                wharf.names("scenarios")

    def test_a_run_that_stalls(self):
        error = self.assert_same_end(wharf.Stalled, "incast", {"run.time_limit": "10us"})
        self.assertEqual(error.results.summary["end"], "stalled")
        self.assertEqual(set(error.results.flows.status), {"running"})
        self.assert_same_end(wharf.Stalled, "fetch-64-bytes", {"run.time_limit": "1us"})

    def test_a_bug_of_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wharf")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho 'wharf: a bug of ours: none' >&2\nexit 6\n")
            os.chmod(path, stat.S_IRWXU)
            with changed({"WHARF_PROGRAM": path}), self.assertRaisesRegex(wharf.Bug, "^a bug of ours: none$"):
                wharf.command("list")

    def test_every_exception_has_its_exit_code(self):
        kinds = (wharf.ExpectationFailed, wharf.UsageError, wharf.InputError, wharf.EnvironmentFailure, wharf.Stalled,
                 wharf.Bug)
        self.assertEqual([kind.exit_code for kind in kinds], [1, 2, 3, 4, 5, 6])
        self.assertTrue(all(issubclass(kind, wharf.Error) for kind in kinds))

    def test_a_command_that_fails_has_its_document(self):
        with self.assertRaises(wharf.ExpectationFailed) as raised:
            wharf.command("run", "incast", "--set", "traffic.ranks=5")
        self.assertEqual(raised.exception.results["finished"], 4)


class Interrupts(unittest.TestCase):
    def interrupted(self, action):
        """Runs `action` and presses Ctrl-C."""
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                action()
        finally:
            timer.join()

    def test_ctrl_c_ends_a_run(self):
        self.interrupted(lambda: wharf.run("fetch-64-bytes", LONG))
        self.interrupted(lambda: wharf.run("incast", {"traffic.size": "1GiB"}))

    def test_ctrl_c_ends_a_sweep(self):
        scenario = wharf.Scenario("fetch-64-bytes", LONG)
        self.interrupted(lambda: wharf.sweep(scenario, {"run.seed": range(4)}, jobs=2))

    def test_ctrl_c_ends_a_command(self):
        code = ("import wharf\n"
                "try:\n"
                "  print('ready', flush=True)\n"
                "  wharf.command('run', 'fetch-64-bytes', '--set', 'run.operations=2000000000')\n"
                "except KeyboardInterrupt:\n"
                "  print('interrupted')\n")
        running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.assertEqual(running.stdout.readline(), "ready\n")
        threading.Timer(0.3, lambda: os.killpg(running.pid, signal.SIGINT)).start()
        self.assertEqual(running.communicate()[0], "interrupted\n")

    def test_progress_rises_and_can_end_a_run(self):
        seen = []
        wharf.run("fetch-64-bytes", {"run.operations": 300_000}, progress=lambda *at: seen.append(at))
        self.assertEqual(seen[-1][0], 1.0)
        self.assertEqual(seen, sorted(seen))

        class Enough(Exception):
            pass

        def end(fraction, simulated_ns, events):
            raise Enough

        with self.assertRaises(Enough):
            wharf.run("fetch-64-bytes", LONG, progress=end)


if __name__ == "__main__":
    unittest.main()
