// SPDX-License-Identifier: Apache-2.0
// --html: the pages that commands leave, as files and in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "run_program.h"

namespace wharf::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A command that writes a page, and what its page must say.
struct PageCase {
  std::vector<std::string> command;
  std::vector<std::string> says;
};
const std::vector<PageCase>& cases() {
  static const std::vector<PageCase> all{
      {{"run", "fetch-64-bytes", "--set", "run.seed=7"},
       {"<dt>seed</dt><dd>7</dd>", "where the time of a", "fingerprint 0x", "<td>run.seed</td><td>7</td>",
        "wharf run fetch-64-bytes --set run.seed=7</pre>", "Latency of the"}},
      {{"run", "incast", "--set", "observe.period=1us", "--set", "observe.flows=1,3"},
       {"<h2>Flows</h2>", "flow completion, us", "Goodput of flows", "<td>observe.flows</td><td>1,3</td>"}},
      {{"sweep", "fetch-64-bytes", "--vary", "model.link.delay=50ns,100ns,2us", "--vary", "run.seed=1,2"},
       {"mean ns by model.link.delay", "run.seed 2", "All that is expected of 6 runs"}},
      {{"explain", "fetch-64-bytes"}, {"Where the nanoseconds go", "class=\"strong\"", "critical path"}},
      {{"litmus", "l02-acquire-flag", "--witness"},
       {"What a device may see", "behave as stated", "A shortest way to", "The program"}},
  };
  return all;
}

std::vector<std::string> with_page(std::vector<std::string> command, const std::string& page) {
  command.insert(command.end(), {"--html", page});
  return command;
}

TEST(CliPages, SayWhatWasAskedWhatWasFoundAndHowToReproduceIt) {
  const ScratchDirectory scratch;
  for (const PageCase& each : cases()) {
    const Outcome outcome = wharf(with_page(each.command, scratch / "new/page.html"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("page in " + scratch / "new/page.html"));
    const std::string page = text_of(scratch / "new/page.html");
    for (const std::string& what : each.says) EXPECT_THAT(page, HasSubstr(what));
    for (const char* always : {"<!doctype html>", "How to reproduce", "Made by wharf "})
      EXPECT_THAT(page, HasSubstr(always)) << each.command[0];
    // One operation is explained, not judged.
    EXPECT_EQ(page.find("class=\"pass\">holds") != std::string::npos, each.command[0] != "explain");
    // Nothing from elsewhere; the names of SVG's vocabularies are no places.
    for (const char* loader : {"src=", "href=\"http", "<link", "@import", "url(http", "fetch("})
      EXPECT_THAT(page, Not(HasSubstr(loader))) << each.command[0];
    EXPECT_EQ(count_of(page, "http://"), count_of(page, "http://www.w3.org/")) << each.command[0];
    EXPECT_EQ(count_of(page, "https://"), 0U) << each.command[0];
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "new"), fs::directory_iterator()), 1);
  }
}

TEST(CliPages, AreTheSameBytesWhateverTheirName) {
  const ScratchDirectory scratch;
  for (const PageCase& each : cases()) {
    ASSERT_EQ(wharf(with_page(each.command, scratch / "a.html")).exit_code, 0);
    std::vector<std::string> json = with_page(each.command, scratch / "b.html");
    json.emplace_back("-q");
    ASSERT_EQ(wharf(with_page(each.command, scratch / "b.html")).exit_code, 0);
    EXPECT_EQ(text_of(scratch / "a.html"), text_of(scratch / "b.html")) << each.command[0];
  }
}

// What users write into files and names stays text.
TEST(CliPages, EscapeTitlesAndFileNames) {
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "<script>alert(2)");
  const std::string scenario = scratch / "<script>alert(2)/x.toml";
  std::ofstream(scenario) << "title = \"<script>alert(1)</script>\"\n[run]\nworkload = \"pointer_chase\"\n";
  const std::string litmus = scratch / "<script>alert(2)/x.litmus";
  fs::copy_file("tests/litmus/l02-acquire-flag.litmus", litmus);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", scenario},
                                             {"sweep", scenario, "--vary", "run.seed=1,2"},
                                             {"explain", scenario},
                                             {"litmus", litmus}}) {
    const Outcome outcome = wharf(with_page(command, scratch / "page.html"));
    ASSERT_EQ(outcome.exit_code, 0) << command[0] << outcome.err;
    const std::string page = text_of(scratch / "page.html");
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(2)"));
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, Not(HasSubstr("</script>\"")));
  }
}

// Known before the work, told in one sentence; nothing is left, not even of --out.
TEST(CliPages, WithoutAPlaceNothingIsLeft) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "file") << "mine";
  for (const PageCase& each : cases()) {
    for (const std::string& page : {std::string("/proc/wharf/page.html"), scratch / "file/page.html"}) {
      std::vector<std::string> command = with_page(each.command, page);
      if (command[0] == "run" || command[0] == "sweep")
        command.insert(command.end(), {"--out", scratch / "results"});
      const Outcome outcome = wharf(command);
      EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(outcome.err, HasSubstr("--html " + page + ": cannot be written: "));
      EXPECT_EQ(count_of(outcome.err, "\n"), 1U) << outcome.err;
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch / ""), fs::directory_iterator()), 1);
  EXPECT_EQ(wharf({"run", "fetch-64-bytes", "--html", scratch / ""}).exit_code, 3);
  EXPECT_EQ(wharf({"run", "fetch-64-bytes", "--html", ""}).exit_code, 2);
}

TEST(CliPages, WorkAndSaySoWithoutGnuplot) {
  const ScratchDirectory scratch;
  const Outcome outcome =
      run({"env", "PATH=/nowhere", WHARF_PROGRAM, "run", "fetch-64-bytes", "--html", scratch / "page.html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("gnuplot did not draw"));
  const std::string page = text_of(scratch / "page.html");
  EXPECT_THAT(page, HasSubstr("gnuplot is missing"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
  EXPECT_THAT(page, HasSubstr("\"series\":["));
}

TEST(CliPages, ShowWhatDoesNotHold) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "x.toml") << "[run]\nworkload = \"pointer_chase\"\n"
                                       "[[expect]]\nvalue = \"program.operations\"\nequals = 1\n";
  const Outcome outcome = wharf({"run", scratch / "x.toml", "--html", scratch / "page.html"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const std::string page = text_of(scratch / "page.html");
  EXPECT_THAT(page, HasSubstr("class=\"fail\">fails"));
  EXPECT_THAT(page, HasSubstr("program.operations"));
}

TEST(CliPages, MarkWhatWasInterrupted) {
  const ScratchDirectory scratch;
  Running running({WHARF_PROGRAM, "run", "fetch-64-bytes", "--set", "run.operations=4000000000", "--html",
                   scratch / "page.html"});
  while (fs::is_empty(scratch / "")) std::this_thread::yield();  // Until it has begun.
  running.signal(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(text_of(scratch / "page.html"), HasSubstr("PARTIAL"));
}

/// A browser without a window, or nothing.
std::string browser() {
  for (const char* name : {"chromium-headless-shell", "chromium", "google-chrome"}) {
    if (run({"bash", "-c", std::string("command -v ") + name}).exit_code == 0) return name;
  }
  return "";
}

/// Added to a page: does what a reader does, and writes down what came of it.
constexpr const char* kReader = R"(<script>
const seen = [];
const figures = [...document.querySelectorAll('figure.live')];
const figure = figures.find(f => f.querySelectorAll('.legend i').length > 1) || figures[0];
const send = (kind, x, y) => {
  const svg = figure.querySelector('.chart svg'), box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: box.left + x * box.width,
    clientY: box.top + y * box.height}));
};
if (figure) {
  const points = figure.querySelector('.chart polyline').points;
  const point = points.getItem(Math.floor(points.numberOfItems / 2));
  const view = figure.querySelector('.chart svg').viewBox.baseVal;
  send('pointermove', point.x / view.width, point.y / view.height);
  seen.push('tip ' + (figure.querySelector('.tip').hidden ? 'none' : 'shown'));
  const axis = () => [...figure.querySelectorAll('.chart svg text')].map(t => t.textContent).join(' ');
  const before = axis();
  send('pointerdown', 0.4, 0.5);
  send('pointermove', 0.7, 0.5);
  send('pointerup', 0.7, 0.5);
  seen.push('zoom ' + (axis() === before ? 'same' : 'changed'));
  const name = figure.querySelector('.legend button:not(.plain)');
  if (name && figure.querySelectorAll('.legend i').length > 1) name.click();
  seen.push('faded ' + figure.querySelectorAll('.legend .off').length);
  figure.querySelector('.legend .plain').click();
  seen.push('back ' + (axis() === before ? 'same' : 'changed'));
}
const head = [...document.querySelectorAll('th.sorts')].find(t => t.classList.contains('number'));
if (head) {
  const at = [...head.parentElement.children].indexOf(head);
  head.click();
  const values = [...head.closest('table').tBodies[0].rows].map(r => parseFloat(r.cells[at].textContent));
  seen.push('sorted ' + values.every((v, i, all) => i === 0 || !(v < all[i - 1])));
}
const note = document.createElement('output');
note.textContent = 'READER ' + seen.join(', ') + '.';
document.body.appendChild(note);
</script></body>)";

// Found in a browser: every plot is alive, values appear under the pointer, zoom and choice work and can be
// taken back, tables sort. A page is a file; the browser gets no network.
TEST(CliPages, LiveInABrowser) {
  const std::string program = browser();
  if (program.empty()) GTEST_SKIP() << "no Chromium here; apt-get install chromium-headless-shell";
  const ScratchDirectory scratch;
  for (const PageCase& each : cases()) {
    ASSERT_EQ(wharf(with_page(each.command, scratch / "page.html")).exit_code, 0);
    std::string page = text_of(scratch / "page.html");
    const std::size_t plots = count_of(page, "<figure class=\"plot\">");
    page.replace(page.rfind("</body>"), 7, kReader);
    std::ofstream(scratch / "read.html") << page;
    const Outcome outcome =
        run({program, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + scratch / "browser",
             "--virtual-time-budget=5000", "--dump-dom", "file://" + scratch / "read.html"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(count_of(outcome.out, "class=\"plot live\""), plots) << each.command[0];
    const std::size_t at = outcome.out.find("<output>READER ");
    ASSERT_NE(at, std::string::npos) << each.command[0] << outcome.err;
    const std::string seen = outcome.out.substr(at, outcome.out.find("</output>", at) - at);
    EXPECT_THAT(seen, Not(HasSubstr("sorted false"))) << each.command[0];
    if (plots == 0) continue;
    for (const char* what : {"tip shown", "zoom changed", "back same"})
      EXPECT_THAT(seen, HasSubstr(what)) << each.command[0];
  }
}

// A scenario by its name is the same wherever the data lies.
TEST(CliPages, BytesDoNotDependOnWhereWharfIsInstalled) {
  const ScratchDirectory scratch;
  const auto page_with_data_in = [&scratch](const std::string& folder, std::vector<std::string> command) {
    fs::create_directories(scratch / folder);
    for (const char* part : {"scenarios", "profiles", "studies", "traces"}) {
      const std::string to = scratch / (folder + "/" + part);
      if (!fs::exists(to)) fs::create_directory_symlink(fs::current_path() / part, to);
    }
    if (const std::string to = scratch / (folder + "/litmus"); !fs::exists(to))
      fs::create_directory_symlink(fs::current_path() / "tests/litmus", to);
    command.insert(command.begin(), {"/usr/bin/env", "WHARF_DATA=" + (scratch / folder), WHARF_PROGRAM});
    const std::string page = scratch / "page.html";
    const Outcome outcome = run(with_page(command, page));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return text_of(page);
  };
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"run", "fetch-64-bytes"},
           {"run", "incast"},
           {"explain", "fetch-64-bytes"},
           {"sweep", "incast", "--vary", "run.seed=1,2"},
           {"sweep", "fetch-64-bytes", "--vary", "model.link.delay=50ns,100ns"},
           {"litmus", "l02-acquire-flag"}}) {
    const std::string page = page_with_data_in("here", command);
    EXPECT_EQ(page, page_with_data_in("in/another/place", command)) << command[0] << " " << command[1];
    EXPECT_THAT(page, Not(HasSubstr(scratch / ""))) << command[0];
  }
  EXPECT_THAT(page_with_data_in("here", {"sweep", "incast", "--vary", "run.seed=1,2"}),
              HasSubstr("<h1>Eight hosts send to one over Ultra Ethernet: NSCC keeps the last queue near its "
                        "target, by run.seed</h1>"));
  std::ofstream(scratch / "plain.toml") << "[run]\noperations = 20\n";
  EXPECT_THAT(page_with_data_in("here", {"sweep", scratch / "plain.toml", "--vary", "run.seed=1,2"}),
              HasSubstr("<h1>plain, by run.seed</h1>"));
}

}  // namespace
}  // namespace wharf::cli_test
