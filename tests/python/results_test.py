# SPDX-License-Identifier: Apache-2.0
"""What Python returns is what the command line writes: summaries, every column of every table, captures."""
import copy
import json
import os
import pickle
import subprocess
import tempfile
import threading
import time
import unittest

import numpy

import wharf

PROGRAM = os.environ["WHARF_PROGRAM"]
# A run of programs on two hosts, one behind switches, one of flows with failures and observed series.
RUNS = [
    ("fetch-64-bytes", {"model.stack": "roce_dma", "run.seed": 7}),
    ("lossy-writes", {"run.operations": 50}),
    ("key-value-incast", {"run.operations": 20}),
    ("incast", {"fabric.controller": "swift", "observe.period": "20us", "observe.ports": "leaf0-*",
                "observe.flows": 1}),
]


def program(*words):
    """The program as it stands: exit code, standard output, standard error."""
    ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def of_command_line(name, keys, folder):
    words = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    code, out, err = program("run", name, *words, "--json", "--out", folder)
    assert code == 0, err
    return json.loads(out)


class Runs(unittest.TestCase):
    def assert_same_table(self, name, ours, theirs):
        self.assertEqual(list(ours), list(theirs), name)
        self.assertGreater(ours.rows, 0, name)
        for column in ours:
            found, wanted = ours[column], theirs[column]
            self.assertEqual(len(found), len(wanted), f"{name}.{column}")
            if found.dtype.kind == "f":
                # Files have picoseconds of times, and four digits of ratios.
                room = 5.1e-5 if column in ("slowdown", "load") else 1e-3 / 2 + 1e-9
                numpy.testing.assert_allclose(found, wanted, rtol=0, atol=room, err_msg=f"{name}.{column}")
            else:
                self.assertTrue(numpy.array_equal(found, wanted), f"{name}.{column}")

    def test_summaries_and_tables_are_those_of_the_command_line(self):
        for name, keys in RUNS:
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                folder = os.path.join(scratch, "out")
                document = of_command_line(name, keys, folder)
                results = wharf.run(name, keys)
                self.assertEqual(results.summary, document)
                self.assertEqual(results.fingerprint, document["fingerprint"])
                read = wharf.read(folder)
                self.assertEqual(read.json, results.json)
                for table in results.tables:
                    self.assert_same_table(table, results.tables[table], read.tables[table])
                missing = set(read.tables) - set(results.tables) - {"fct_cdf"}
                self.assertEqual(missing, set())

    def test_series_are_there_where_they_were_asked_for(self):
        results = wharf.run(*RUNS[3])
        self.assertIn("series_flows", results.tables)
        self.assertEqual(set(results.series_flows.flow), {1})
        self.assertTrue(all(port.startswith("leaf0-") for port in results.series_ports.port))
        with self.assertRaisesRegex(AttributeError, "no table sereis, expected one of flows, ports, series_"):
            results.sereis

    def test_latencies_are_those_of_the_summary(self):
        results = wharf.run("key-value", {"run.operations": 500})
        self.assertAlmostEqual(results.latencies_ns.mean(), results.summary["program"]["latency_ns"]["mean"], places=3)
        flows = wharf.run("incast")
        self.assertAlmostEqual(flows.latencies_ns.mean(), flows.summary["fct_ns"]["mean"], places=3)

    def test_flows_that_did_not_end_have_no_times(self):
        results = wharf.run("incast", {"run.end": "100us"}, check=False)
        self.assertEqual(set(results.flows.status), {"running"})
        self.assertTrue(numpy.isnan(results.flows.fct_ns).all() and numpy.isnan(results.flows.slowdown).all())
        self.assertFalse(numpy.isnan(results.flows.start_ns).any())

    def test_the_same_run_gives_the_same_bytes(self):
        first = wharf.run("lossy-writes")
        self.assertEqual(wharf.run("lossy-writes").json, first.json)
        self.assertNotEqual(wharf.run("lossy-writes", {"run.seed": 99}).fingerprint, first.fingerprint)

    def test_a_scenario_is_a_name_a_path_or_a_text(self):
        name = wharf.run("incast")
        path = wharf.run(os.path.join("scenarios", "incast.toml"))
        with open("scenarios/incast.toml", encoding="utf-8") as file:
            text = wharf.run(text=file.read())
        self.assertEqual({name.fingerprint, path.fingerprint, text.fingerprint}, {name.fingerprint})

    def test_values_become_what_set_takes(self):
        scenario = wharf.Scenario("fetch-64-bytes")
        scenario["run.operations"] = 3
        scenario["model.link.delay"] = "1us"
        self.assertEqual(scenario.check()["kind"], "programs")
        self.assertIn('operations = "3"', scenario.check()["effective"])
        self.assertEqual(scenario.run().operations.rows, 3)
        other = scenario.copy({"run.operations": 4})
        self.assertEqual((other.run().operations.rows, scenario["run.operations"]), (4, 3))
        del scenario["run.operations"]
        self.assertNotIn('operations = "3"', scenario.check()["effective"])

    def test_bools_of_numpy_set_keys_as_bools_do(self):
        for value in (True, False):
            scenario = wharf.Scenario("fetch-64-bytes", {"a": numpy.bool_(value), "b": [numpy.bool_(value), value]})
            text = str(value).lower()
            self.assertEqual(scenario._overrides(), [f"a={text}", f"b={text},{text}"])
        keys = {"model.uet.sleek": numpy.bool_(True), "model.stack": "uet"}
        self.assertIn("sleek = \"true\"", wharf.Scenario("fetch-64-bytes", keys).check()["effective"])

    def test_threads_that_ask_for_tables_at_once_load_them_once(self):
        asked = threading.Barrier(8)
        loads = []

        def load():
            loads.append(threading.get_ident())
            time.sleep(0.05)  # So that the others come meanwhile.
            return {"table": len(loads)}

        results = wharf._results.Results("{}", [], load)

        def ask():
            asked.wait()
            found.append(results.tables)

        found = []
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(loads), 1)
        self.assertEqual(found, [{"table": 1}] * 8)

    def test_results_can_be_copied_and_sent_to_other_processes(self):
        results = wharf.Scenario("fetch-64-bytes").run()
        for other in (copy.deepcopy(results), pickle.loads(pickle.dumps(results))):
            self.assertEqual(other.fingerprint, results.fingerprint)
            self.assertEqual(list(other.tables), list(results.tables))
            self.assertEqual(list(other.latencies_ns), list(results.latencies_ns))

    def test_a_check_tells_what_has_no_influence(self):
        checked = wharf.Scenario(
            "incast", {"fabric.trimming": True, "fabric.protocol": "roce", "fabric.controller": "dcqcn"}).check()
        self.assertEqual(checked["kind"], "flows")
        self.assertTrue(any("fabric.trimming" in line for line in checked["without_influence"]), checked)

    def test_frames_are_dissected_as_the_program_does(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "out")
            code, _, err = program("run", "lossy-writes", "--set", "run.operations=20", "--capture", "--out", folder)
            self.assertEqual(code, 0, err)
            capture = os.path.join(folder, "capture.pcapng")
            document = json.loads(program("dissect", capture, "--json")[1])
            frames = list(wharf.frames(capture))
            self.assertGreater(len(frames), 20)
            self.assertEqual(frames, document["frames"])

    def test_lists_are_those_of_the_program(self):
        for what in ("scenarios", "profiles", "studies", "stacks", "litmus"):
            self.assertEqual("\n".join(wharf.names(what)) + "\n", program("list", what, "--names")[1])
        delay = [key for key in wharf.keys() if key["name"] == "model.link.delay"]
        self.assertEqual((delay[0]["type"], delay[0]["unit"]), ("time", "ns"))

    def test_any_command_has_its_document(self):
        document = wharf.command("check", "fetch-64-bytes")
        self.assertEqual((document["valid"], document["schema_version"]), (True, 1))

    def test_frames_of_pandas(self):
        results = wharf.run("incast")
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(wharf.EnvironmentFailure, "pandas is not installed, expected"):
                results.flows.frame()
            self.skipTest("pandas is not installed (python3-pandas)")
        frame = results.flows.frame()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame.columns), list(results.flows))
        self.assertEqual(frame.fct_ns.max(), results.summary["fct_ns"]["max"])

    def test_version(self):
        self.assertIn(f"wharf {wharf.__version__} (commit {wharf.commit}", program("version")[1])


if __name__ == "__main__":
    unittest.main()
