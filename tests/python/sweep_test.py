# SPDX-License-Identifier: Apache-2.0
"""Sweeps: the same runs in the same order with any number of threads."""
import json
import os
import subprocess
import threading
import time
import unittest

import numpy

import wharf

PROGRAM = os.environ["WHARF_PROGRAM"]
VARY = {"model.link.delay": ["50ns", "1us"], "model.stack": ["ub_urma", "roce_dma", "ub_ldst"]}


class Sweeps(unittest.TestCase):
    def test_runs_are_those_of_the_command_line(self):
        words = [word for key, values in VARY.items() for word in ("--vary", f"{key}={','.join(values)}")]
        out = subprocess.run([PROGRAM, "sweep", "fetch-64-bytes", *words, "--json"], capture_output=True, text=True,
                             check=True).stdout
        runs = json.loads(out)["runs"]
        for jobs in (1, 3):
            sweep = wharf.sweep("fetch-64-bytes", VARY, jobs=jobs)
            self.assertEqual(sweep.varied, [run["varied"] for run in runs])
            for ours, theirs in zip(sweep, runs):
                summary = dict(ours.summary)
                del summary["schema_version"]
                self.assertEqual(summary, theirs["summary"])

    def test_a_table_has_the_keys_and_the_numbers(self):
        told = []
        sweep = wharf.sweep("fetch-64-bytes", VARY, progress=lambda *at: told.append(at))
        self.assertEqual(told, [(number, 6) for number in range(1, 7)])
        table = sweep.table("program.latency_ns.mean", "fingerprint")
        self.assertEqual(list(table), ["model.link.delay", "model.stack", "program.latency_ns.mean", "fingerprint"])
        self.assertEqual(table["program.latency_ns.mean"].tolist(),
                         [run.summary["program"]["latency_ns"]["mean"] for run in sweep])
        self.assertEqual(len(set(table.fingerprint)), 6)
        self.assertGreater(len(sweep.table()), 20)
        with self.assertRaisesRegex(wharf.InputError, "no run has a number nonsense, expected one of "):
            sweep.table("nonsense")

    def test_records_are_kept_when_asked_for(self):
        sweep = wharf.sweep("incast", {"run.seed": [1, 2]}, tables=True, check=False)
        self.assertEqual([run.flows.rows for run in sweep], [8, 8])
        without = wharf.sweep("incast", {"run.seed": [1]}, check=False)[0]
        self.assertEqual(dict(without.tables), {})
        with self.assertRaisesRegex(AttributeError, "were not kept, so there is no flows, expected sweep"):
            without.flows

    def test_a_run_that_is_refused_ends_the_sweep(self):
        with self.assertRaisesRegex(wharf.InputError, r"^run 1 \(model.stack=ub_urm\): .*did you mean \"ub_urma\"\?"):
            wharf.sweep("fetch-64-bytes", {"model.stack": ["ub_urma", "ub_urm"]}, jobs=1)
        with self.assertRaises(wharf.Stalled) as raised:
            wharf.sweep("incast", {"run.time_limit": ["10us"]})
        self.assertEqual(raised.exception.results.summary["end"], "stalled")

    def test_what_fails_is_told_when_all_have_run(self):
        with self.assertRaisesRegex(wharf.ExpectationFailed, r"^run 1 \(traffic.ranks=5\): .*finished is 4") as raised:
            wharf.sweep("incast", {"traffic.ranks": [9, 5]})
        self.assertEqual([len(run.failures) > 0 for run in raised.exception.results], [False, True])

    def test_what_cannot_be_varied_is_refused(self):
        with self.assertRaisesRegex(wharf.UsageError, "run.seed has no list of values"):
            wharf.sweep("incast", {"run.seed": "1"})
        with self.assertRaisesRegex(wharf.InputError, "run.seed is both set and varied"):
            wharf.sweep(wharf.Scenario("incast", {"run.seed": 1}), {"run.seed": [1, 2]})
        with self.assertRaisesRegex(wharf.UsageError, "jobs is 0, expected 1 or more"):
            wharf.sweep("incast", {"run.seed": [1]}, jobs=0)

    def test_python_goes_on_beside_a_run(self):
        ticks = []
        ended = threading.Event()

        def run():
            wharf.run("fetch-64-bytes", {"run.operations": 400_000})
            ended.set()

        runner = threading.Thread(target=run)
        runner.start()
        while not ended.wait(0.005):
            ticks.append(time.monotonic())
        runner.join()
        self.assertGreater(len(ticks), 3)  # With the lock held there would be none.

    def test_arrays_are_numpys(self):
        table = wharf.run("fetch-64-bytes").operations
        self.assertTrue(all(isinstance(column, numpy.ndarray) for column in table.values()))
        self.assertEqual((table.latency_ns.dtype, table.bytes.dtype), (numpy.float64, numpy.int64))


if __name__ == "__main__":
    unittest.main()
