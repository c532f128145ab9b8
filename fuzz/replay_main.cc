// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: every file of a corpus, then fixed-seed mutations of them. One run is
// the same as the next, on any machine and with any compiler.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kLengthMax = 65536;

/// What is running now. Global because a signal handler can be handed nothing.
struct Running {
  char name[512] = "";
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
};
Running running;

/// Writes with nothing but write(2), as a signal handler must.
void write_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Names the input that crashed and prints it as hex, enough to make a corpus file of it.
extern "C" void report_crash(int signal) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  write_text("replay: crashed on ");
  write_text(running.name);
  write_text(signal == SIGSEGV ? " (SIGSEGV), bytes: " : " (SIGABRT), bytes: ");
  for (std::size_t i = 0; i < running.size; ++i) {
    const char pair[2] = {kDigits[running.data[i] >> 4U], kDigits[running.data[i] & 15U]};
    write_text({pair, 2});
  }
  write_text("\n");
  ::_exit(1);
}

/// SplitMix64: small, and the same everywhere.
class Mutator {
 public:
  /// One to four edits of a copy of `seed`; `other` lends bytes for splices.
  Input mutate(const Input& seed, const Input& other) {
    Input input = seed;
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) edit(input, other);
    return input;
  }

  /// Uniform enough in [0, limit); limit must not be 0.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

 private:
  void edit(Input& input, const Input& other) {
    const std::size_t at = input.empty() ? 0 : below(input.size());
    const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::uint64_t kind = input.empty() ? 5 : below(7);
    switch (kind) {
      case 0:
        input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << below(8)));
        break;
      case 1:
        input[at] = static_cast<std::uint8_t>(next());
        break;
      case 2:
        input[at] = static_cast<std::uint8_t>(input[at] + (below(2) == 0 ? 1U : 255U));
        break;
      case 3:
        input[at] = below(2) == 0 ? std::uint8_t{0} : std::uint8_t{255};
        break;
      case 4:
        input.resize(at);
        break;
      case 5: {
        if (input.size() < kLengthMax) input.insert(position, static_cast<std::uint8_t>(next()));
        break;
      }
      default:
        splice(input, at, other);
        break;
    }
  }

  void splice(Input& input, std::size_t at, const Input& other) {
    if (other.empty()) return;
    const std::size_t from = below(other.size());
    const std::size_t length = std::min({other.size() - from, input.size() - at, 1 + below(32)});
    std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), length,
                input.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_ = 1;
};

void run(const std::string& name, const Input& input) {
  // A heap block of exactly this size, so that AddressSanitizer and valgrind see a read past its end.
  const Input exact(input.begin(), input.end());
  std::snprintf(running.name, sizeof running.name, "%s", name.c_str());
  running.data = exact.data();
  running.size = exact.size();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t mutations = 0;
  const std::string_view count = argc == 3 ? argv[2] : "";
  const auto parsed = std::from_chars(count.data(), count.data() + count.size(), mutations);
  if (argc != 3 || parsed.ec != std::errc() || parsed.ptr != count.data() + count.size()) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER MUTATIONS\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1], missing)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  if (paths.empty()) {
    std::fprintf(stderr, "replay: %s holds no input\n", argv[1]);
    return 3;
  }
  std::sort(paths.begin(), paths.end());

  std::signal(SIGABRT, report_crash);
  std::signal(SIGSEGV, report_crash);
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    run(path.filename().string(), corpus.back());
  }
  Mutator mutator;
  for (std::uint64_t i = 0; i < mutations; ++i) {
    const std::size_t seed = mutator.below(corpus.size());
    const Input& other = corpus[mutator.below(corpus.size())];
    run("mutation " + std::to_string(i) + " of " + paths[seed].filename().string(),
        mutator.mutate(corpus[seed], other));
  }
  std::printf("replay: %zu corpus files and %llu mutations, no crash\n", corpus.size(),
              static_cast<unsigned long long>(mutations));
  return 0;
}
