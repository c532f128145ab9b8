// SPDX-License-Identifier: Apache-2.0
// Graph files: any hosts, switches and links.
#include <fmt/format.h>

#include <charconv>
#include <map>

#include "base/text_lines.h"
#include "base/units.h"
#include "sim/fabric/topology_file.h"

namespace wharf::sim {
namespace {

class GraphReader {
 public:
  GraphReader(std::string_view text, const std::string& name) : lines_(text, name) {}

  Result<TopologyFile> read() {
    bool begun = false;
    while (lines_.next()) {
      if (lines_.blank() || lines_.line().starts_with('#')) continue;
      if (!begun) {
        if (lines_[0].text != "graph")
          return lines_.refuse_token(lines_[0], "the word graph first", {"graph"});
        if (lines_.size() > 1) return lines_.refuse_token(lines_[1], "the end of the line");
        begun = true;
        continue;
      }
      WHARF_TRY(statement());
    }
    const auto valid = file_.topology.validate();
    // What a graph lacks as a whole is told at its end.
    if (!valid)
      return input_error(
          fmt::format("{}:{}:1: {}", lines_.name(), std::max(lines_.number(), 1U), valid.error().message));
    return std::move(file_);
  }

 private:
  Result<void> statement() {
    const std::string_view word = lines_[0].text;
    if (word == "hosts") return hosts();
    if (word == "switch") return add_switch();
    if (word == "link") return link();
    return lines_.refuse_token(lines_[0], "hosts, switch or link", {"hosts", "switch", "link"});
  }

  Result<void> expect_tokens(std::size_t least, std::string_view form) const {
    if (lines_.size() < least)
      return lines_.refuse_end(fmt::format("found {} tokens, expected {}", lines_.size(), form));
    return {};
  }

  Result<void> hosts() {
    WHARF_TRY(expect_tokens(2, "hosts N [pod P]"));
    if (file_.topology.switch_count() != 0)
      return lines_.refuse(lines_[0], "found hosts after a switch, expected all hosts first");
    const std::uint32_t room = kTopologyHostsMax - file_.topology.host_count();
    const auto count = lines_.integer(lines_[1], "a number of hosts", 1, room);
    if (!count) return count.error();
    std::uint64_t pod = 0;
    WHARF_TRY(attributes(2, {{"pod", &pod, kTopologyHostsMax}}, nullptr));
    for (std::uint64_t i = 0; i < *count; ++i) file_.topology.add_host(static_cast<std::uint32_t>(pod));
    return {};
  }

  Result<void> add_switch() {
    WHARF_TRY(expect_tokens(2, "switch NAME [tier T] [pod P] [latency TIME]"));
    const std::string_view name = lines_[1].text;
    if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
      return lines_.refuse_token(lines_[1], "a name that does not begin with a digit");
    if (switches_.contains(name))
      return lines_.refuse(lines_[1],
                           fmt::format("found switch {} again, expected a new name", quoted_token(name)));
    if (file_.topology.host_count() == 0)
      return lines_.refuse(lines_[0], "found a switch before any host, expected all hosts first");
    if (switches_.size() >= kTopologyHostsMax)
      return lines_.refuse(lines_[0], fmt::format("found more than {} switches", kTopologyHostsMax));
    std::uint64_t tier = 0;
    std::uint64_t pod = 0;
    TimePs latency;
    WHARF_TRY(attributes(2, {{"tier", &tier, 15}, {"pod", &pod, kTopologyHostsMax}}, &latency));
    switches_[name] =
        file_.topology.add_switch(static_cast<std::uint8_t>(tier), latency, static_cast<std::uint32_t>(pod));
    file_.names.emplace_back(name);
    return {};
  }

  Result<void> link() {
    WHARF_TRY(expect_tokens(5, "link A B RATE DELAY [bundle N]"));
    NodeId ends[2] = {0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto found = end_of(lines_[i + 1]);
      if (!found) return found.error();
      ends[i] = *found;
    }
    if (ends[0] == ends[1]) return lines_.refuse(lines_[2], "found a link to itself, expected two nodes");
    const auto rate = parse_rate(lines_[3].text);
    if (!rate) return lines_.refuse(lines_[3], rate.error().message);
    if (rate->value == 0) return lines_.refuse_token(lines_[3], "a positive rate");
    const auto delay = parse_time(lines_[4].text);
    if (!delay) return lines_.refuse(lines_[4], delay.error().message);
    if (*delay <= kTimeZero || *delay > milliseconds(4)) return lines_.refuse_token(lines_[4], "1ps to 4ms");
    std::uint64_t bundle = 1;
    WHARF_TRY(attributes(5, {{"bundle", &bundle, 1024}}, nullptr));
    if (bundle == 0) return lines_.refuse(lines_[0], "found bundle 0, expected at least 1");
    links_ += bundle;
    if (links_ * 2 > kTopologyPortsMax)
      return lines_.refuse(lines_[0], fmt::format("found more than {} links", kTopologyPortsMax / 2));
    for (std::uint64_t i = 0; i < bundle; ++i) file_.topology.connect(ends[0], ends[1], {*rate, *delay});
    return {};
  }

  Result<NodeId> end_of(const TextToken& token) const {
    if (const auto known = switches_.find(token.text); known != switches_.end()) return known->second;
    NodeId host = 0;
    const char* end = token.text.data() + token.text.size();
    const auto parsed = std::from_chars(token.text.data(), end, host);
    if (parsed.ec == std::errc() && parsed.ptr == end && host < file_.topology.host_count()) return host;
    return lines_.refuse_token(token, fmt::format("a switch defined above or a host from 0 to {}",
                                                  std::max(file_.topology.host_count(), 1U) - 1));
  }

  struct Attribute {
    std::string_view word;
    std::uint64_t* value;
    std::uint64_t high;
  };

  Result<void> attributes(std::size_t first, std::initializer_list<Attribute> known, TimePs* latency) const {
    for (std::size_t i = first; i < lines_.size(); i += 2) {
      const std::string_view word = lines_[i].text;
      const Attribute* found = nullptr;
      for (const Attribute& each : known) found = each.word == word ? &each : found;
      const bool time = latency != nullptr && word == "latency";
      if (found == nullptr && !time)
        return lines_.refuse_token(lines_[i], "an attribute of this line",
                                   {"pod", "tier", "latency", "bundle"});
      if (i + 1 == lines_.size())
        return lines_.refuse_end(fmt::format("found no value of {}, expected one", word));
      if (time) {
        const auto value = parse_time(lines_[i + 1].text);
        if (!value) return lines_.refuse(lines_[i + 1], value.error().message);
        *latency = *value;
      } else {
        const auto value = lines_.integer(lines_[i + 1], fmt::format("a value of {}", word), 0, found->high);
        if (!value) return value.error();
        *found->value = *value;
      }
    }
    return {};
  }

  TextLines lines_;
  TopologyFile file_;
  std::map<std::string_view, NodeId> switches_;
  std::uint64_t links_ = 0;
};

}  // namespace

Result<TopologyFile> read_graph_file(std::string_view text, const std::string& name) {
  return GraphReader(text, name).read();
}

}  // namespace wharf::sim
