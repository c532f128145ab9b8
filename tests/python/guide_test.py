# SPDX-License-Identifier: Apache-2.0
"""Every example of docs/python.md runs, one after another, and prints what the page says."""
import contextlib
import io
import re
import unittest

PAGE = "docs/python.md"


def examples(text):
    """(line, code, what it prints) of every example; nothing is said of the output of some."""
    found = re.finditer(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, each.start()) + 1, each[1], each[2]) for each in found]


class Guide(unittest.TestCase):
    def test_examples_print_what_the_page_says(self):
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(len(examples(text)), 5)
        self.assertEqual(text.count("```text"), sum(printed is not None for _, _, printed in examples(text)))
        names = {}
        for line, code, printed in examples(text):
            with self.subTest(f"{PAGE}:{line}"):
                out = io.StringIO()
                try:
                    with contextlib.redirect_stdout(out):
                        exec(compile("\n" * line + code, PAGE, "exec"), names)
                except ModuleNotFoundError as error:
                    if error.name != "matplotlib":
                        raise
                    self.skipTest("matplotlib is not installed (python3-matplotlib)")
                self.assertEqual(out.getvalue(), printed or "")


if __name__ == "__main__":
    unittest.main()
