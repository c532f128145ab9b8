// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/lackey_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace wharf::sim {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;
/// The fast path may look this far past a line's start; a line of lackey has at most 27 characters.
constexpr std::size_t kPadding = 64;
/// How much of a wrong line a message shows.
constexpr std::size_t kShownCharacters = 60;
/// A run of instructions that would overflow a record is split well before.
constexpr std::uint32_t kInstructionsPerRecord = std::numeric_limits<std::uint32_t>::max() - 1;
/// MAP_FIXED and MAP_ANONYMOUS of Linux on amd64.
constexpr std::uint64_t kMapFixed = 0x10;
constexpr std::uint64_t kMapAnonymous = 0x20;
constexpr std::uint32_t kPageBytes = 4096;

constexpr std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101ULL; }

/// The value of eight lower-case hexadecimal characters, or nothing. All eight at once: each byte is compared
/// with the ends of the two ranges by the carry into its top bit.
inline bool parse_hex8(const char* at, std::uint64_t& value) {
  std::uint64_t v;
  std::memcpy(&v, at, sizeof v);
  constexpr std::uint64_t kTop = every_byte(0x80);
  const std::uint64_t from_0 = (v | kTop) - every_byte('0');
  const std::uint64_t past_9 = v + every_byte(0x80 - ('9' + 1));
  const std::uint64_t from_a = v + every_byte(0x80 - 'a');
  const std::uint64_t past_f = v + every_byte(0x80 - ('f' + 1));
  const std::uint64_t good = ((from_0 & ~past_9) | (from_a & ~past_f)) & ~v & kTop;
  if (good != kTop) return false;
  // Letters have bit 6; their low nibble counts from 1 for 'a'.
  std::uint64_t nibbles = (v & every_byte(0x0F)) + ((v >> 6U) & every_byte(0x01)) * 9;
  nibbles = ((nibbles << 4U) | (nibbles >> 8U)) & 0x00FF00FF00FF00FFULL;
  nibbles = ((nibbles << 8U) | (nibbles >> 16U)) & 0x0000FFFF0000FFFFULL;
  value = ((nibbles << 16U) | (nibbles >> 32U)) & 0xFFFFFFFFULL;
  return true;
}

/// 0 to 15, or 0xFF for a character that is no hexadecimal digit.
constexpr std::array<std::uint8_t, 256> kHexDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(0xFF);
  for (std::uint8_t i = 0; i < 10; ++i) digits['0' + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    digits['a' + i] = static_cast<std::uint8_t>(10 + i);
    digits['A' + i] = static_cast<std::uint8_t>(10 + i);
  }
  return digits;
}();

/// "04001000,3\n" in the form that lackey always writes. Gives the byte after the newline, or null for any
/// other text, which the slow path then looks at. Reads at most 28 bytes.
inline const char* parse_fast(const char* at, std::uint64_t& address, std::uint32_t& size) {
  if (!parse_hex8(at, address)) return nullptr;
  at += 8;
  for (int more = 0; *at != ','; ++at, ++more) {
    const std::uint8_t digit = kHexDigits[static_cast<std::uint8_t>(*at)];
    if (digit == 0xFF || more == 8) return nullptr;
    address = address << 4U | digit;
  }
  ++at;
  size = static_cast<std::uint32_t>(static_cast<std::uint8_t>(*at)) - '0';
  if (size > 9) return nullptr;
  ++at;
  for (int more = 0; *at != '\n'; ++at, ++more) {
    const std::uint32_t digit = static_cast<std::uint32_t>(static_cast<std::uint8_t>(*at)) - '0';
    if (digit > 9 || more == 3) return nullptr;
    size = size * 10 + digit;
  }
  if (size == 0 || address > std::numeric_limits<std::uint64_t>::max() - size) return nullptr;
  return at + 1;
}

/// The start of a line of lackey: three characters.
constexpr std::uint32_t prefix(char a, char b, char c) {
  return static_cast<std::uint32_t>(static_cast<std::uint8_t>(a)) |
         static_cast<std::uint32_t>(static_cast<std::uint8_t>(b)) << 8U |
         static_cast<std::uint32_t>(static_cast<std::uint8_t>(c)) << 16U;
}
constexpr std::uint32_t kInstructionPrefix = prefix('I', ' ', ' ');
constexpr std::uint32_t kLoadPrefix = prefix(' ', 'L', ' ');
constexpr std::uint32_t kStorePrefix = prefix(' ', 'S', ' ');
constexpr std::uint32_t kModifyPrefix = prefix(' ', 'M', ' ');

std::optional<TraceKind> kind_of(char letter) {
  switch (letter) {
    case 'L':
    case 'R':
      return TraceKind::kLoad;
    case 'S':
    case 'W':
      return TraceKind::kStore;
    case 'M':
      return TraceKind::kModify;
    case 'I':
      return TraceKind::kInstructions;
    default:
      return std::nullopt;
  }
}

bool starts_like_lackey(std::string_view line) {
  return line.starts_with("I  ") || line.starts_with(" L ") || line.starts_with(" S ") ||
         line.starts_with(" M ");
}

bool starts_like_generic(std::string_view line) {
  return line.size() >= 3 && kind_of(line[0]).has_value() && line[1] == ' ' && line[2] != ' ';
}

template <typename T>
bool parse_whole(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

/// The text between the first `open` and the next `close`, or nothing.
std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t first = text.find(open);
  if (first == std::string_view::npos) return {};
  text.remove_prefix(first + open.size());
  return text.substr(0, text.find(close));
}

/// A printable stand-in for text that may be anything.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kShownCharacters)) result += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kShownCharacters) result += "...";
  return result;
}

}  // namespace

LackeyReader::LackeyReader(ByteSource source) : source_(std::move(source)), buffer_(kBufferBytes + kPadding) {
  cursor_ = end_ = buffer_.data();
}

Result<void> LackeyReader::refill() {
  std::size_t kept = static_cast<std::size_t>(end_ - cursor_);
  if (kept == kBufferBytes) {
    // No newline in a whole buffer: program output, or no text at all.
    in_long_line_ = true;
    kept = 0;
  }
  std::memmove(buffer_.data(), cursor_, kept);
  const Result<std::size_t> got = source_.read({buffer_.data() + kept, kBufferBytes - kept});
  if (!got) return got.error();
  at_end_ = *got == 0;
  bytes_ += *got;
  cursor_ = buffer_.data();
  end_ = buffer_.data() + kept + *got;
  std::memset(buffer_.data() + kept + *got, 0, kPadding);
  if (!found_access_ && bytes_ > kBytesWithoutAccess + kBufferBytes) return no_access_found();
  return {};
}

Result<std::size_t> LackeyReader::read(std::span<TraceRecord> out) {
  WHARF_CHECK(!out.empty());
  std::size_t count = 0;
  while (count < out.size()) {
    if (static_cast<std::size_t>(end_ - cursor_) < kPadding && !at_end_) WHARF_TRY(refill());
    // Whole lines of lackey, as long as there surely is one; nothing but registers and the record.
    const char* at = cursor_;
    const auto available = static_cast<std::size_t>(end_ - cursor_);
    const char* const last_start =
        at_end_ ? end_ : cursor_ + (available > kPadding ? available - kPadding : 0);
    std::uint64_t line = line_;
    std::uint32_t instructions = instructions_;
    if (form_ == Form::kLackey && !in_long_line_) {
      while (at < last_start) {
        std::uint32_t start;
        std::memcpy(&start, at, sizeof start);
        start &= 0xFFFFFFU;
        std::uint64_t address;
        std::uint32_t size;
        if (start == kInstructionPrefix) {
          const char* next = parse_fast(at + 3, address, size);
          if (next == nullptr || instructions == kInstructionsPerRecord) break;
          at = next;
          ++line;
          ++instructions;
          continue;
        }
        if (start != kLoadPrefix && start != kStorePrefix && start != kModifyPrefix) break;
        const char* next = parse_fast(at + 3, address, size);
        if (next == nullptr) break;
        at = next;
        ++line;
        const TraceKind kind = start == kLoadPrefix    ? TraceKind::kLoad
                               : start == kStorePrefix ? TraceKind::kStore
                                                       : TraceKind::kModify;
        out[count++] = TraceRecord{address, instructions, static_cast<std::uint16_t>(size), kind};
        instructions = 0;
        if (count == out.size()) break;
      }
    }
    cursor_ = at;
    line_ = line;
    instructions_ = instructions;
    if (count == out.size()) break;

    // One line of any other kind.
    const void* newline = std::memchr(cursor_, '\n', static_cast<std::size_t>(end_ - cursor_));
    if (newline == nullptr && !at_end_) {
      WHARF_TRY(refill());
      continue;
    }
    if (newline == nullptr && cursor_ == end_) {
      if (!found_access_) return no_access_found();
      if (instructions_ > 0 && !sent_rest_) {
        sent_rest_ = true;
        out[count++] = TraceRecord{0, std::exchange(instructions_, 0U), 0, TraceKind::kInstructions};
      }
      break;
    }
    const char* line_end = newline == nullptr ? end_ : static_cast<const char*>(newline);
    std::string_view text{cursor_, static_cast<std::size_t>(line_end - cursor_)};
    cursor_ = newline == nullptr ? end_ : line_end + 1;
    ++line_;
    if (std::exchange(in_long_line_, false)) {
      if (form_ == Form::kGeneric) return refusal(LineResult::kUnexpected, text);
      ++foreign_lines_;
      continue;
    }
    if (text.ends_with('\r')) text.remove_suffix(1);
    TraceRecord record;
    const LineResult result = take_line(text, record);
    if (result == LineResult::kMalformed || result == LineResult::kUnexpected) return refusal(result, text);
    if (result == LineResult::kAccess) {
      found_access_ = true;
      if (record.kind != TraceKind::kInstructions) {
        record.instructions = std::exchange(instructions_, 0U);
        out[count++] = record;
      } else if (instructions_ == kInstructionsPerRecord) {
        out[count++] = TraceRecord{0, std::exchange(instructions_, 1U), 0, TraceKind::kInstructions};
      } else {
        ++instructions_;
      }
    } else if (!found_access_ && line_ >= kLinesWithoutAccess) {
      return no_access_found();
    }
  }
  return count;
}

LackeyReader::LineResult LackeyReader::take_line(std::string_view line, TraceRecord& record) {
  if (line.empty() || line.starts_with("==") || line.starts_with("--")) return LineResult::kNoAccess;
  if (form_ != Form::kGeneric && starts_like_lackey(line)) {
    form_ = Form::kLackey;
    if (line.find(',') == std::string_view::npos) return LineResult::kMalformed;
    return take_access(line.substr(3), line[0] == ' ' ? line[1] : line[0], record);
  }
  if (form_ != Form::kLackey && starts_like_generic(line)) {
    const LineResult result = take_access(line.substr(2), line[0], record);
    if (result == LineResult::kAccess) form_ = Form::kGeneric;
    return result;
  }
  if (line[0] == '#' && form_ != Form::kLackey) return LineResult::kNoAccess;
  if (form_ == Form::kGeneric) return LineResult::kUnexpected;
  if (line.starts_with("SYSCALL[")) {
    take_syscall(line);
    return LineResult::kNoAccess;
  }
  ++foreign_lines_;
  return LineResult::kNoAccess;
}

LackeyReader::LineResult LackeyReader::take_access(std::string_view text, char kind, TraceRecord& record) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const std::size_t separator = text.find_first_of(", ");
  std::string_view size_text = separator == std::string_view::npos ? "8" : text.substr(separator + 1);
  while (size_text.starts_with(' ')) size_text.remove_prefix(1);
  while (size_text.ends_with(' ')) size_text.remove_suffix(1);
  std::uint64_t address = 0;
  std::uint16_t size = 0;
  if (!parse_whole(text.substr(0, separator), address, 16) || !parse_whole(size_text, size, 10) ||
      size == 0 || address > std::numeric_limits<std::uint64_t>::max() - size) {
    return LineResult::kMalformed;
  }
  record = TraceRecord{address, 0, size, *kind_of(kind)};
  return LineResult::kAccess;
}

// "SYSCALL[123,1](12) sys_brk ( 0x0 ) --> [pre-success] Success(0x4035000) "
// "SYSCALL[123,1](9) sys_mmap ( 0x0, 8192, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x4835000) "
void LackeyReader::take_syscall(std::string_view line) {
  std::uint64_t result = 0;
  if (!parse_whole(between(line, "Success(0x", ")"), result, 16)) return;
  if (line.find(" sys_brk (") != std::string_view::npos) {
    if (program_break_ != 0 && result > program_break_) regions_.add_heap({program_break_, result});
    if (program_break_ == 0) regions_.add_heap({});
    program_break_ = std::max(program_break_, result);
    return;
  }
  if (line.find(" sys_mmap (") == std::string_view::npos) return;
  std::string_view arguments = between(line, "sys_mmap ( ", " )");
  std::array<std::uint64_t, 4> values{};  // Address, length, protection, flags.
  for (std::uint64_t& value : values) {
    const std::size_t comma = arguments.find(',');
    if (comma == std::string_view::npos) return;
    std::string_view argument = arguments.substr(0, comma);
    const bool hexadecimal = argument.starts_with("0x");
    if (hexadecimal) argument.remove_prefix(2);
    if (!parse_whole(argument, value, hexadecimal ? 16 : 10)) return;
    arguments.remove_prefix(comma + 1);
    while (arguments.starts_with(' ')) arguments.remove_prefix(1);
  }
  const std::uint64_t length = (values[1] + kPageBytes - 1) & ~std::uint64_t{kPageBytes - 1};
  const bool wraps = length < values[1] || result > std::numeric_limits<std::uint64_t>::max() - length;
  if ((values[3] & kMapAnonymous) == 0 || (values[3] & kMapFixed) != 0 || wraps) return;
  regions_.add_heap({result, result + length});
}

Error LackeyReader::refusal(LineResult why, std::string_view line) const {
  const bool cut = at_end_ && cursor_ == end_ && end_ != buffer_.data() && end_[-1] != '\n';
  const char* expected =
      form_ == Form::kGeneric
          ? "\"L|R|S|W|M|I hexaddress[,size]\" such as \"R 7f001000,8\""
          : "\"I  hexaddress,size\" or \" L|S|M hexaddress,size\" such as \" L 1ffeff7e8,8\"";
  return input_error(fmt::format("{}:{}: found \"{}\"{}, expected {}{}", source_.name(), line_, shown(line),
                                 cut ? " where the file ends" : "", expected,
                                 why == LineResult::kMalformed ? " with a size from 1 to 65535" : ""));
}

Error LackeyReader::no_access_found() const {
  return input_error(fmt::format(
      "{}: no memory access in the first {} lines, expected the text that \"valgrind --tool=lackey "
      "--trace-mem=yes\" writes (lines such as \" L 1ffeff7e8,8\") or \"R|W hexaddress size\"",
      source_.name(), line_));
}

}  // namespace wharf::sim
