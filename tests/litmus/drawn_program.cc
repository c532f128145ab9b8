// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/drawn_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace wharf::sim {
namespace {

using Column = std::vector<std::string>;

class Drawer {
 public:
  Drawer(std::uint64_t seed, DrawnKind kind) : random_(seed, "litmus.program"), kind_(kind) {}

  DrawnProgram draw() {
    DrawnProgram made;
    const bool is_mmio = kind_ == DrawnKind::kMmio;
    const std::uint64_t first = is_mmio ? static_cast<std::uint64_t>(LitmusDesign::kMmioToday) : 0;
    const std::uint64_t end =
        is_mmio ? kLitmusDesignCount : static_cast<std::uint64_t>(LitmusDesign::kMmioToday);
    made.design = static_cast<LitmusDesign>(first + random_.below(end - first));
    std::string text = "litmus Drawn\n";
    if (obeys_labels(rlsq_design(made.design))) {
      if (one_in(4)) text += "set order.write_before_annotated_read yes\n";
      if (one_in(3)) text += "set order.release_before_acquire yes\n";
    }
    if (!is_mmio && one_in(8)) text += "set bus on_chip\n";
    // A queue that refuses what comes.
    if (!is_mmio && one_in(4)) text += "set rlsq.entries 1\nset rlsq.trackers 1\nset rlsq.posted_reserve 1\n";
    if (is_mmio) text += mmio_settings(has_rob(made.design));
    if (one_in(6)) text += "set host.store_buffer 1\n";
    has_labels_ = !is_mmio || text.find("rlsq.design") != std::string::npos;
    text += variables();
    std::vector<std::string> names;
    std::vector<Column> columns;
    if (is_mmio) {
      names = {"host P", "device D"};
      if (one_in(4)) names.emplace_back("host Q");
    } else {
      static const std::vector<std::vector<std::string>> kAgents{{"host P", "device D"},
                                                                 {"host P", "device D"},
                                                                 {"host P", "device D.1", "device D.2"},
                                                                 {"host P", "device D", "device E"},
                                                                 {"host P", "host Q", "device D"},
                                                                 {"device D", "device E @2"},
                                                                 {"host P", "host Q"},
                                                                 {"device D", "device E"}};
      names = pick(std::span(kAgents));
    }
    if (is_mmio && !one_in(3)) {
      names.resize(2);
      columns.resize(2);
      draw_shape(columns[0], columns[1]);
      made.text = text + table(names, columns);
      return made;
    }
    const std::uint64_t most = names.size() > 2 ? 2 : 3;
    for (const std::string& name : names) {
      Column column;
      const std::uint64_t count = most - random_.below(most == 3 ? 2 : 1) - (one_in(6) ? 1 : 0);
      for (std::uint64_t i = 0; i < count; ++i)
        column.push_back(name[0] == 'd' ? device_instruction() : host_instruction(name == "host P"));
      columns.push_back(std::move(column));
    }
    if (is_mmio) make_about_mmio(columns[0]);
    made.text = text + table(names, columns);
    return made;
  }

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  template <typename T>
  const T& pick(std::span<const T> from) {
    return from[random_.below(from.size())];
  }
  std::string_view word(std::initializer_list<std::string_view> from) {
    return pick(std::span<const std::string_view>(from.begin(), from.size()));
  }
  std::uint64_t value() { return ++value_; }
  std::string answer() { return fmt::format("r{}", register_++); }

  // A root complex of another day, and sizes of which something runs out.
  std::string mmio_settings(bool has_buffer) {
    std::string text;
    if (one_in(3)) {
      text += fmt::format("set rlsq.design {}\n", word({"release_acquire", "thread_specific", "speculative",
                                                        "strict_blocking", "strict_speculative"}));
    }
    if (one_in(6)) text += fmt::format("set host.combining_buffers {}\n", 1 + random_.below(2));
    if (!has_buffer) return text + (one_in(8) ? "set bus on_chip\n" : "");
    if (one_in(2)) text += "set rob.rule strict\n";
    if (one_in(4)) text += "set rob.number_bits 2\n";
    if (one_in(4)) text += "set rob.entries 1\nset rob.window 1\n";
    return text;
  }

  std::string variables() {
    if (kind_ == DrawnKind::kMmio) {
      memory_ = one_in(3) ? std::vector<std::string>{"x", "y"} : std::vector<std::string>{"x"};
      mmio_ = one_in(3) ? std::vector<std::string>{"d"} : std::vector<std::string>{"d", "e"};
      std::string text = "{ x; ";
      if (memory_.size() == 2) text += "y; ";
      if (mmio_.size() == 1) return text + "mmio d }\n";
      return text + (one_in(2) ? "mmio d; mmio e }\n" : "mmio [d; e] }\n");
    }
    memory_ = {"x", "y"};
    if (one_in(3)) memory_.emplace_back("z");
    if (one_in(5)) {
      are_words_of_a_line_ = true;
      return memory_.size() == 2 ? "{ [x; y] }\n" : "{ [x; y]; z }\n";
    }
    are_lines_apart_ = true;
    return memory_.size() == 2 ? "{ x; y }\n" : "{ x; y; z }\n";
  }

  std::string host_instruction(bool has_device) {
    const std::string_view at = pick(std::span<const std::string>(memory_));
    const bool is_mmio = kind_ == DrawnKind::kMmio && has_device && !one_in(3);
    if (is_mmio) return mmio_instruction();
    switch (random_.below(9)) {
      case 0:
        return "fence";
      case 1:
        return atomic("", at);
      case 2:
      case 3:
      case 4:
        return fmt::format("{} = R {}", answer(), at);
      default:
        if (are_words_of_a_line_ && one_in(3)) return fmt::format("W x,y {},{}", value(), value());
        return fmt::format("W {} {}", at, value());
    }
  }

  /// A compare finds what is there at the start, or what was stored first.
  std::string atomic(std::string_view label, const std::string_view at) {
    switch (random_.below(3)) {
      case 0:
        return fmt::format("{} = CAS{} {} {} {}", answer(), label, at, random_.below(2), value());
      case 1:
        return fmt::format("{} = SWAP{} {} {}", answer(), label, at, value());
      default:
        return fmt::format("{} = FAA{} {} {}", answer(), label, at, value());
    }
  }

  std::string mmio_instruction() {
    const std::string_view at = pick(std::span<const std::string>(mmio_));
    switch (random_.below(13)) {
      case 0:
        return "fence";
      case 1:
        return "sfence";
      case 2:
      case 3:
        return fmt::format("UC {} {}", at, value());
      case 4:
      case 5:
        return fmt::format("WC {} {}", at, value());
      case 6:
      case 7:
        return fmt::format("MW {} {}", at, value());
      case 8:
      case 9:
        return fmt::format("MW.rel {} {}", at, value());
      case 10:
        return fmt::format("{} = MR.acq {}", answer(), at);
      default:
        return fmt::format("{} = MR {}", answer(), at);
    }
  }

  std::string device_instruction() {
    const std::string_view at = pick(std::span<const std::string>(memory_));
    if (kind_ == DrawnKind::kMmio && one_in(2)) {
      const std::string_view own = pick(std::span<const std::string>(mmio_));
      return one_in(3) ? fmt::format("S {} {}", own, value()) : fmt::format("{} = L {}", answer(), own);
    }
    switch (random_.below(11)) {
      case 0:
        return "wait";
      case 1:
        return atomic(has_labels_ ? word({"", "", ".ro", ".ido", ".rlx", ".acq", ".rel"}) : "", at);
      case 2:
        if (are_words_of_a_line_ && one_in(2))
          return fmt::format("W{} x,y {},{}", word({"", ".rlx", ".rel"}), value(), value());
        if (are_words_of_a_line_)
          return fmt::format("{},{} = R{} x,y", answer(), answer(), word({"", ".rlx", ".acq"}));
        if (!are_lines_apart_) return fmt::format("{} = R {}", answer(), at);
        return fmt::format("{},{} = R{} x,y", answer(), answer(), word({"", ".rlx", ".acq", ".asc"}));
      case 3:
      case 4:
      case 5:
      case 6:
        return fmt::format(
            "{} = R{} {}", answer(),
            has_labels_ ? word({"", "", ".ro", ".ido", ".rlx", ".acq", ".acq", ".rr"}) : word({"", ".ro"}),
            at);
      default:
        return fmt::format(
            "W{} {} {}",
            has_labels_ ? word({"", "", "", ".ro", ".ido", ".rlx", ".rel", ".rel"}) : word({"", "", ".ro"}),
            at, value());
    }
  }

  // Two places, written in one order by one of the two and read in the other by the other: what most rules
  // are about, and what free draws seldom are.
  void draw_shape(Column& host, Column& device) {
    std::vector<std::string> places = memory_;
    places.insert(places.end(), mmio_.begin(), mmio_.end());
    const std::string first = pick(std::span<const std::string>(places));
    std::string second = first;
    // One of the two is the device's, or the program is not about it.
    while (second == first) second = pick(std::span<const std::string>(is_memory(first) ? mmio_ : places));
    const bool host_writes = one_in(2) || one_in(2);
    Column& writer = host_writes ? host : device;
    Column& reader = host_writes ? device : host;
    writer.push_back(write_of(first, host_writes));
    if (!one_in(3)) writer.push_back(host_writes ? std::string(word({"fence", "sfence"})) : "wait");
    writer.push_back(write_of(second, host_writes));
    reader.push_back(read_of(second, !host_writes));
    if (!one_in(3)) reader.push_back(host_writes ? "wait" : "fence");
    reader.push_back(read_of(first, !host_writes));
  }
  bool is_memory(const std::string& place) const {
    return std::find(memory_.begin(), memory_.end(), place) != memory_.end();
  }
  std::string write_of(const std::string& place, bool by_host) {
    const std::string_view opcode = is_memory(place)
                                        ? (by_host || !has_labels_ ? "W" : word({"W", "W.rlx", "W.rel"}))
                                    : by_host ? word({"UC", "WC", "WC", "MW", "MW.rel"})
                                              : "S";
    return fmt::format("{} {} {}", opcode, place, value());
  }
  std::string read_of(const std::string& place, bool by_host) {
    const std::string_view opcode = is_memory(place)
                                        ? (by_host || !has_labels_ ? "R" : word({"R", "R.rlx", "R.acq"}))
                                    : by_host ? word({"MR", "MR.acq"})
                                              : "L";
    return fmt::format("{} = {} {}", answer(), opcode, place);
  }

  /// At least one instruction of the path to the device, or the program is not about it.
  void make_about_mmio(Column& column) {
    column.push_back(mmio_instruction());
    while (column.back().find("fence") != std::string::npos) column.back() = mmio_instruction();
  }

  static std::string table(const std::vector<std::string>& names, const std::vector<Column>& columns) {
    std::string text;
    std::size_t rows = 0;
    for (const Column& column : columns) rows = std::max(rows, column.size());
    for (std::size_t row = 0; row <= rows; ++row) {
      for (std::size_t at = 0; at < columns.size(); ++at) {
        const std::string cell = row == 0                       ? names[at]
                                 : row - 1 < columns[at].size() ? columns[at][row - 1]
                                                                : std::string();
        text += fmt::format("{}{:16}", at == 0 ? "" : "| ", cell);
      }
      text += ";\n";
    }
    return text;
  }

  RandomStream random_;
  DrawnKind kind_;
  std::vector<std::string> memory_;
  std::vector<std::string> mmio_;
  bool are_lines_apart_ = false;
  bool are_words_of_a_line_ = false;
  bool has_labels_ = false;  ///< Accesses of devices may have one.
  std::uint64_t value_ = 0;
  std::uint32_t register_ = 0;
};

}  // namespace

DrawnProgram draw_program(std::uint64_t seed, DrawnKind kind) { return Drawer(seed, kind).draw(); }

}  // namespace wharf::sim
