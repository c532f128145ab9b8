// SPDX-License-Identifier: Apache-2.0
// wharf import FILE: a recorded memory trace into wharf's compact binary form.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "sim/host/replay/trace_reader.h"
#include "wharf/data_folders.h"

namespace wharf::cli {
namespace {

class ImportCommand : public Command {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override {
    return "Turn a recorded memory trace into the compact binary form.";
  }
  std::string_view examples() const override {
    return "  wharf import traces/two-lines.txt --out two-lines.wtrace\n"
           "  wharf import traces/two-lines.txt --out first.wtrace --limit 1000\n"
           "\n"
           "  Of a program: valgrind --tool=lackey --trace-mem=yes --log-file=sort.lackey \\\n"
           "      sort words.txt\n";
  }
  void declare(Options& app) override {
    app.add_option("file", input_,
                   "Lackey text or generic R/W text, plain, gz, xz or zstd; or a binary trace")
        .type_name("FILE")
        .required();
    app.add_option("-o,--out", output_, "File to write").type_name("FILE").required();
    app.add_flag("--force", force_, "Replace an existing file");
    app.add_option("--skip", options_.skip_accesses, "Leave out this many accesses at the start")
        .type_name("N");
    app.add_option("--limit", options_.limit_accesses, "Stop after this many accesses")
        .type_name("N")
        .positive();
    app.add_option("--level", options_.compression_level, "zstd level, 0 (none) to 19")
        .type_name("N")
        .range(0, 19);
  }
  Result<ExitCode> run(const Console& console) override {
    std::error_code status;
    if (std::filesystem::exists(output_, status) && !force_) {
      return input_error(fmt::format("--out {}: the file exists already; --force replaces it", output_));
    }
    Progress progress(console, "import");
    options_.go_on_context = &progress;
    options_.go_on = [](void* context, std::uint64_t accesses, std::uint64_t total) {
      Progress& shown = *static_cast<Progress*>(context);
      const std::string detail = fmt::format("{:.1f} M accesses", static_cast<double>(accesses) / 1e6);
      if (total == 0) {
        shown.update(detail);
      } else {
        shown.update(static_cast<double>(accesses) / static_cast<double>(total), detail);
      }
      return !interrupt_requested();
    };
    auto summary = sim::import_lackey(data_file(input_), output_, options_);
    if (!summary) return summary.error();
    if (summary->given_up) {
      console.error(fmt::format("interrupted after {} accesses; {} was not written",
                                summary->counts.accesses(), output_));
      return ExitCode::kInterrupted;
    }
    const sim::TraceCounts& counts = summary->counts;
    console.print(nlohmann::ordered_json{{"input", input_},
                                         {"output", output_},
                                         {"output_bytes", summary->output_bytes},
                                         {"accesses", counts.accesses()},
                                         {"loads", counts.loads},
                                         {"stores", counts.stores},
                                         {"modifies", counts.modifies},
                                         {"instructions", counts.instructions},
                                         {"input_lines", summary->input_lines},
                                         {"foreign_lines", summary->foreign_lines}});
    console.print(
        fmt::format("{}: {} accesses ({} loads, {} stores, {} modifies), {} instructions, {} bytes\n",
                    output_, counts.accesses(), counts.loads, counts.stores, counts.modifies,
                    counts.instructions, summary->output_bytes));
    if (summary->foreign_lines != 0) {
      console.remark(
          fmt::format("{} lines of the program's own output were skipped", summary->foreign_lines));
    }
    return ExitCode::kDone;
  }

 private:
  std::string input_;
  std::string output_;
  sim::ImportOptions options_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_import_command() { return std::make_unique<ImportCommand>(); }

}  // namespace wharf::cli
