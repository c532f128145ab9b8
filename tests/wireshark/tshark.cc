// SPDX-License-Identifier: Apache-2.0
#include "tshark.h"

#include <stdlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

#include "wire/pcapng_writer.h"

namespace wharf::wire {
namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 65536> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe.get()))
    output.append(chunk.data(), got);
  return output;
}

/// The value of an attribute of one XML element, or nothing.
std::string attribute(std::string_view element, std::string_view name) {
  const std::string key = " " + std::string(name) + "=\"";
  const std::size_t at = element.find(key);
  if (at == std::string_view::npos) return "";
  const std::size_t from = at + key.size();
  const std::string_view value = element.substr(from, element.find('"', from) - from);
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '&') {
      text += value[i];
      continue;
    }
    constexpr std::array<std::pair<std::string_view, char>, 5> kEscapes = {
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}}};
    bool escaped = false;
    for (const auto& [escape, plain] : kEscapes) {
      if (value.substr(i, escape.size()) != escape) continue;
      text += plain;
      i += escape.size() - 1;
      escaped = true;
      break;
    }
    if (!escaped) text += value[i];
  }
  return text;
}

/// "PSN: 7" of "..01 11.. = PSN: 7".
std::string without_bits(const std::string& text) {
  const std::size_t equals = text.find(" = ");
  return equals != std::string::npos && text.find_first_not_of("01. ") == equals + 1 ? text.substr(equals + 3)
                                                                                     : text;
}

bool is_ours(std::string_view name) {
  return name.starts_with("ub.") || name.starts_with("uet.") || name.starts_with("tlp.");
}

void add_element(std::string_view element, ShownFrame& frame) {
  ShownField field{attribute(element, "name"), "", 0, 0};
  if (!is_ours(field.name)) return;
  field.text = without_bits(attribute(element, "showname"));
  if (field.name.ends_with(".refused")) {
    frame.refused = field.text;
    return;
  }
  field.offset = static_cast<std::uint32_t>(std::strtoul(attribute(element, "pos").c_str(), nullptr, 10));
  field.length = static_cast<std::uint32_t>(std::strtoul(attribute(element, "size").c_str(), nullptr, 10));
  frame.fields.push_back(std::move(field));
}

}  // namespace

std::string reason_to_skip() {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) return "tshark is not installed";
  std::istringstream folders(output_of("tshark -G folders 2>/dev/null"));
  for (std::string line; std::getline(folders, line);) {
    if (!line.starts_with("Global Lua Plugins:")) continue;
    const std::filesystem::path folder = line.substr(line.find('/'));
    if (std::filesystem::exists(folder / "wharf"))
      return "tshark loads the dissectors of an installed wharf from " + folder.string();
  }
  return "";
}

void write_capture(const std::filesystem::path& path, const std::vector<SampleFrame>& frames) {
  PcapngWriter writer = std::move(PcapngWriter::create(path).value());
  const CaptureInterface ethernet = writer.add_interface("ethernet", LinkType::kEthernet);
  const CaptureInterface link = writer.add_interface("link", LinkType::kUbLink);
  const CaptureInterface pcie = writer.add_interface("pcie", LinkType::kPcieTlp);
  std::int64_t number = 0;
  for (const SampleFrame& frame : frames)
    writer.write(frame.link == LinkType::kEthernet ? ethernet
                 : frame.link == LinkType::kUbLink ? link
                                                   : pcie,
                 TimePs{1'000'000 * ++number}, frame.bytes);
  if (!writer.close().ok()) std::abort();
}

std::string tshark(const std::filesystem::path& capture, const std::string& arguments) {
  const std::string folder = capture.parent_path().string();
  std::string command =
      "env -u XDG_CONFIG_HOME HOME='" + folder + "/none' tshark -n -r '" + capture.string() + "'";
  for (const char* script : {"ub", "uet", "pcie_tlp"})
    command += std::string(" -X lua_script:src/wire/wireshark/") + script + ".lua";
  command += " " + arguments + " 2>&1";
  return output_of(command);
}

std::vector<ShownFrame> shown_frames(const std::filesystem::path& capture) {
  std::vector<ShownFrame> frames;
  std::istringstream tree(tshark(capture, "-T pdml -J 'ub uet tlp'"));
  for (std::string line; std::getline(tree, line);) {
    if (line.find("<packet>") != std::string::npos) frames.emplace_back();
    if (!frames.empty() && line.find("<field ") != std::string::npos) add_element(line, frames.back());
  }
  std::istringstream columns(tshark(capture, "-T fields -e _ws.col.Protocol -e _ws.col.Info"));
  std::size_t at = 0;
  for (std::string line; std::getline(columns, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || at == frames.size()) continue;
    frames[at].protocol = line.substr(0, tab);
    frames[at++].info = line.substr(tab + 1);
  }
  return frames;
}

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "wharf-wireshark-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code status;
  std::filesystem::remove_all(path_, status);
}

}  // namespace wharf::wire
