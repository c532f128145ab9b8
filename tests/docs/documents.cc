// SPDX-License-Identifier: Apache-2.0
#include "docs/documents.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string_view>

namespace wharf::docs {
namespace {

bool is_markdown(std::string_view path) { return path.ends_with(".md"); }

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos ? std::string()
                                    : line.substr(first, line.find_last_not_of(" \t") - first + 1);
}

/// Some lines that stand together, and where.
struct Block {
  std::string file;
  std::size_t line = 0;  ///< Of the mark or fence before it, from 1.
  std::string language;  ///< Fences only.
  std::vector<std::string> lines;
};

/// The lines without the indentation that all of them share; blank lines have none.
std::vector<std::string> dedented(std::vector<std::string> lines) {
  std::size_t shared = std::string::npos;
  for (const std::string& line : lines) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) shared = std::min(shared, first);
  }
  for (std::string& line : lines) {
    line = line.find_first_not_of(' ') == std::string::npos ? std::string() : line.substr(shared);
  }
  return lines;
}

/// The marked regions of one file of an example.
std::vector<Block> marked_regions(const SourceFile& file, std::vector<Finding>& findings) {
  std::vector<Block> regions;
  bool open = false;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string line = trimmed(file.lines[i]);
    const bool begins = line == "// guide: begin" || line == "# guide: begin";
    const bool ends = line == "// guide: end" || line == "# guide: end";
    if ((begins && open) || (ends && !open)) {
      findings.push_back({file.path, i + 1, "\"guide: begin\" and \"guide: end\" do not alternate"});
    }
    if (begins) {
      regions.push_back({file.path, i + 1, "", {}});
      open = true;
    } else if (ends) {
      open = false;
    } else if (open) {
      regions.back().lines.push_back(file.lines[i]);
    }
  }
  if (open) findings.push_back({file.path, regions.back().line, "\"guide: begin\" without an end"});
  for (Block& region : regions) region.lines = dedented(std::move(region.lines));
  return regions;
}

/// The fenced code blocks of a document.
std::vector<Block> fences(const SourceFile& file) {
  std::vector<Block> blocks;
  bool open = false;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string line = trimmed(file.lines[i]);
    if (line.starts_with("```")) {
      if (!open) blocks.push_back({file.path, i + 1, line.substr(3), {}});
      open = !open;
    } else if (open) {
      blocks.back().lines.push_back(file.lines[i]);
    }
  }
  return blocks;
}

/// The lines of a document with fenced and inline code blanked out.
std::vector<std::string> prose(const SourceFile& file) {
  static const std::regex kInlineCode("`[^`]*`");
  std::vector<std::string> lines = file.lines;
  bool open = false;
  for (std::string& line : lines) {
    if (trimmed(line).starts_with("```")) {
      open = !open;
      line.clear();
    } else if (open) {
      line.clear();
    } else {
      line = std::regex_replace(line, kInlineCode, "");
    }
  }
  return lines;
}

struct Link {
  std::size_t line = 0;
  std::string target;  ///< Without the part after '#'; not empty.
};

/// The links of a document that stay on this site.
std::vector<Link> relative_links(const SourceFile& file) {
  static const std::regex kLink(R"(\]\(([^)\s]+)[^)]*\))");
  static const std::regex kElsewhere(R"(^(\w+:|//).*)");
  std::vector<Link> links;
  const std::vector<std::string> lines = prose(file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::sregex_iterator it(lines[i].begin(), lines[i].end(), kLink), end; it != end; ++it) {
      const std::string target = (*it)[1].str();
      const std::string path = target.substr(0, target.find('#'));
      if (!path.empty() && !std::regex_match(target, kElsewhere)) links.push_back({i + 1, path});
    }
  }
  return links;
}

std::string resolved(const std::string& from, const std::string& target) {
  std::string path = (std::filesystem::path(folder_of(from)) / target).lexically_normal().generic_string();
  if (path.ends_with('/')) path.pop_back();
  return path;
}

const SourceFile* find(const std::vector<SourceFile>& files, std::string_view path) {
  for (const SourceFile& file : files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

void compare(const SourceFile& guide, const std::vector<Block>& regions, std::vector<Finding>& findings) {
  static const std::set<std::string> kQuoted = {"cpp", "toml", "cmake"};
  const std::vector<Block> blocks = fences(guide);
  const auto same = [](const Block& other) {
    return [&other](const Block& block) { return block.lines == other.lines; };
  };
  for (const Block& region : regions) {
    if (std::none_of(blocks.begin(), blocks.end(), same(region))) {
      findings.push_back(
          {region.file, region.line, "this region is not quoted word for word in " + guide.path});
    }
  }
  for (const Block& block : blocks) {
    if (kQuoted.count(block.language) != 0 && std::none_of(regions.begin(), regions.end(), same(block))) {
      findings.push_back({guide.path, block.line, "this code is no marked region of the example"});
    }
  }
}

}  // namespace

std::vector<Finding> check_links(const std::vector<SourceFile>& files) {
  std::set<std::string> known;
  for (const SourceFile& file : files) {
    for (std::string path = file.path; !path.empty(); path = folder_of(path)) known.insert(path);
  }
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!is_markdown(file.path)) continue;
    for (const Link& link : relative_links(file)) {
      if (known.count(resolved(file.path, link.target)) == 0) {
        findings.push_back(
            {file.path, link.line, "\"" + link.target + "\" is no file or folder of the tree"});
      }
    }
  }
  return findings;
}

std::vector<Finding> check_guides(const std::vector<SourceFile>& files) {
  constexpr std::string_view kGuides = "docs/guides/";
  constexpr std::string_view kExamples = "examples/";
  std::vector<Finding> findings;
  std::set<std::string> examples;
  for (const SourceFile& file : files) {
    const std::string folder = folder_of(file.path);
    if (folder.starts_with(kExamples)) examples.insert(folder);
  }
  for (const std::string& example : examples) {
    std::string name = example.substr(kExamples.size());
    std::replace(name.begin(), name.end(), '_', '-');
    const std::string path = std::string(kGuides) + name + ".md";
    const SourceFile* guide = find(files, path);
    if (guide == nullptr) {
      findings.push_back({example, 0, "has no guide " + path});
      continue;
    }
    std::vector<Block> regions;
    for (const SourceFile& file : files) {
      if (folder_of(file.path) != example) continue;
      for (Block& region : marked_regions(file, findings)) regions.push_back(std::move(region));
    }
    compare(*guide, regions, findings);
  }
  for (const SourceFile& file : files) {
    if (folder_of(file.path) + "/" != kGuides || file.path == std::string(kGuides) + "README.md") continue;
    std::string name = file.path.substr(kGuides.size(), file.path.size() - kGuides.size() - 3);
    std::replace(name.begin(), name.end(), '-', '_');
    if (examples.count(std::string(kExamples) + name) == 0) {
      findings.push_back({file.path, 0, "has no folder examples/" + name});
    }
  }
  return findings;
}

std::vector<Finding> check_indexes(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  for (const std::string folder : {"docs/guides", "docs/decisions"}) {
    const SourceFile* index = find(files, folder + "/README.md");
    std::set<std::string> linked;
    if (index != nullptr) {
      for (const Link& link : relative_links(*index)) linked.insert(resolved(index->path, link.target));
    }
    for (const SourceFile& file : files) {
      if (folder_of(file.path) != folder || &file == index || linked.count(file.path) != 0) continue;
      findings.push_back({file.path, 0, "is not in " + folder + "/README.md"});
    }
  }
  return findings;
}

std::vector<Finding> check_abbreviations(const std::vector<SourceFile>& files) {
  // What any reader knows, venues of papers, and parts of names.
  static const std::set<std::string> kKnown{
      "CPU", "CSV", "GB",  "GPU",  "HPDC", "HTML", "ICPP", "ID",  "IEEE", "IP",  "ISCA", "JSON", "KB",
      "MB",  "PDF", "RFC", "RISC", "SVG",  "TCP",  "TOML", "UDP", "URL",  "ISO", "OK",   "READ"};
  static const std::regex kWord("[A-Za-z0-9_]+");
  static const std::regex kAbbreviation("[A-Z][A-Z0-9]+");
  static const std::regex kPage(
      "docs/(fabric|goal|litmus)[a-z-]*\\.md|docs/decisions/(008[5-9]|009|0[1-9]|[1-9]).*");
  static const std::regex kElsewhere("\\]\\([^)]*\\)|<[^>]*>|\\[[^\\]]*\\]");  // Links, markup, sources.
  std::set<std::string> explained;
  for (const SourceFile& file : files) {
    if (file.path != "docs/glossary.md") continue;
    for (const std::string& line : file.lines)
      for (std::sregex_iterator it(line.begin(), line.end(), kWord), end; it != end; ++it)
        explained.insert(it->str());
  }
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!std::regex_match(file.path, kPage)) continue;
    const std::vector<std::string> lines = prose(file);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string line = std::regex_replace(lines[i], kElsewhere, " ");
      for (std::sregex_iterator it(line.begin(), line.end(), kWord), end; it != end; ++it) {
        const std::string word = it->str();
        if (!std::regex_match(word, kAbbreviation) || kKnown.contains(word) || explained.contains(word))
          continue;
        findings.push_back({file.path, i + 1, "\"" + word + "\" is not in docs/glossary.md"});
      }
    }
  }
  return findings;
}

}  // namespace wharf::docs
