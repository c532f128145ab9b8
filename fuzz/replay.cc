// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over every file of a corpus, then over mutations of them that a seed decides. One run is
// the same as the next on any machine and with any compiler, which libFuzzer's are not: its path depends on
// the order in which the file system lists the corpus and on the machine code. A program of its own without
// libFuzzer; the first argument --replay chooses it in a program with libFuzzer.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#if defined(WHARF_LIBFUZZER) || defined(__SANITIZE_ADDRESS__)
#define WHARF_WITH_SANITIZERS
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kLengthMax = 65536;
/// An input that runs for longer hangs; most take microseconds.
constexpr unsigned kSecondsMax = 60;

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

/// Names the input that is running and prints it as hex, enough to make a corpus file of it.
void report_input(std::string_view how) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  write_text("replay: crashed on ");
  write_text(running.name);
  write_text(how);
  write_text(", bytes: ");
  for (std::size_t i = 0; i < running.size; ++i) {
    const char pair[2] = {kDigits[running.data[i] >> 4U], kDigits[running.data[i] & 15U]};
    write_text({pair, 2});
  }
  write_text("\n");
}

extern "C" void report_signal(int signal) {
#ifdef WHARF_WITH_SANITIZERS
  __sanitizer_print_stack_trace();
#endif
  report_input(signal == SIGSEGV ? " (SIGSEGV)" : signal == SIGALRM ? " (no end within 60 s)" : " (SIGABRT)");
  ::_exit(1);
}

/// What ends a run. Sanitizers report what they find, bad addresses among it, and then let the input be
/// named.
void watch() {
  std::signal(SIGABRT, report_signal);
  std::signal(SIGALRM, report_signal);
#ifdef WHARF_WITH_SANITIZERS
  __sanitizer_set_death_callback([] { report_input(" (sanitizer)"); });
#else
  std::signal(SIGSEGV, report_signal);
#endif
}

/// SplitMix64: small, and the same everywhere.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : state_(seed) {}

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

  std::uint64_t state_;
};

/// FNV-1a over all inputs and their lengths: two runs that print the same have tried the same.
class Fingerprint {
 public:
  void add(const Input& input) {
    for (std::size_t length = input.size(), i = 0; i < 8; ++i)
      add(static_cast<std::uint8_t>(length >> 8U * i));
    for (const std::uint8_t byte : input) add(byte);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

void run(const std::string& name, const Input& input) {
  // A heap block of exactly this size, so that AddressSanitizer and valgrind see a read past its end.
  const Input exact(input.begin(), input.end());
  std::snprintf(running.name, sizeof running.name, "%s", name.c_str());
  running.data = exact.data();
  running.size = exact.size();
  ::alarm(kSecondsMax);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

bool read_number(const char* text, std::uint64_t& number) {
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

/// The files below `folder`, in the order of their names.
std::vector<std::filesystem::path> files(const char* folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, missing)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int replay(int count, char** arguments) {
  std::uint64_t mutations = 0;
  std::uint64_t seed = 1;
  if (count < 2 || count > 3 || !read_number(arguments[1], mutations) ||
      (count == 3 && !read_number(arguments[2], seed))) {
    std::fputs("usage: replay CORPUS_FOLDER MUTATIONS [SEED]\n", stderr);
    return 2;
  }
  const std::vector<std::filesystem::path> paths = files(arguments[0]);
  if (paths.empty()) {
    std::fprintf(stderr, "replay: %s holds no input\n", arguments[0]);
    return 3;
  }
  watch();
  Fingerprint inputs;
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    inputs.add(corpus.back());
    run(path.filename().string(), corpus.back());
  }
  Mutator mutator(seed);
  for (std::uint64_t i = 0; i < mutations; ++i) {
    const std::size_t from = mutator.below(corpus.size());
    const Input& other = corpus[mutator.below(corpus.size())];
    const Input input = mutator.mutate(corpus[from], other);
    inputs.add(input);
    run("mutation " + std::to_string(i) + " of " + paths[from].filename().string(), input);
  }
  std::printf("replay: %zu corpus files and %llu mutations, no crash; inputs %016llx\n", corpus.size(),
              static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(inputs.value()));
  return 0;
}

}  // namespace

#ifdef WHARF_LIBFUZZER
/// libFuzzer calls it before it looks at its own arguments.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc > 1 && std::string_view((*argv)[1]) == "--replay") std::exit(replay(*argc - 2, *argv + 2));
  return 0;
}
#else
int main(int argc, char** argv) { return replay(argc - 1, argv + 1); }
#endif
