// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace wharf::sim {

namespace {

constexpr std::size_t kRawBufferBytes = std::size_t{256} * 1024;
/// Enough for the longest magic number (xz: 6 bytes).
constexpr std::size_t kMagicBytes = 6;
/// What an xz or zstd file may make the decoder take: the windows of the highest ordinary levels.
constexpr std::uint64_t kDecoderMemoryLimit = std::uint64_t{256} << 20U;

enum class Compression : std::uint8_t { kNone, kGzip, kXz, kZstd };

Compression compression_of(std::string_view start) {
  using namespace std::string_view_literals;
  if (start.starts_with("\x1f\x8b"sv)) return Compression::kGzip;
  if (start.starts_with("\xfd"
                        "7zXZ\0"sv)) {
    return Compression::kXz;
  }
  if (start.starts_with("\x28\xb5\x2f\xfd"sv)) return Compression::kZstd;
  return Compression::kNone;
}

const char* name_of(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "plain";
    case Compression::kGzip:
      return "gzip";
    case Compression::kXz:
      return "xz";
    case Compression::kZstd:
      return "zstd";
  }
  WHARF_UNREACHABLE();
}

}  // namespace

class ByteSource::State {
 public:
  State(int file, std::span<const char> memory, std::string name)
      : name_(std::move(name)), file_(file), memory_(memory) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (gzip_open_) inflateEnd(&gzip_);
    if (xz_open_) lzma_end(&xz_);
    ZSTD_freeDStream(zstd_);
    if (file_ >= 0) close(file_);
  }

  Result<std::size_t> read(std::span<char> out) {
    WHARF_CHECK(!out.empty());
    if (peeked_count_ > 0) {
      const std::size_t count = std::min(out.size(), peeked_count_);
      std::memcpy(out.data(), peeked_.data(), count);
      peeked_count_ -= count;
      std::memmove(peeked_.data(), peeked_.data() + count, peeked_count_);
      return count;
    }
    return read_stream(out);
  }

  Result<std::string_view> peek() {
    while (peeked_count_ < peeked_.size()) {
      const Result<std::size_t> got =
          read_stream({peeked_.data() + peeked_count_, peeked_.size() - peeked_count_});
      if (!got) return got.error();
      if (*got == 0) break;
      peeked_count_ += *got;
    }
    return std::string_view{peeked_.data(), peeked_count_};
  }

  const std::string& name() const { return name_; }

 private:
  /// What one step of a decoder came to.
  enum class Step : std::uint8_t { kGoOn, kStreamEnd, kDamaged };

  Result<std::size_t> read_stream(std::span<char> out) {
    if (!started_) WHARF_TRY(start());
    switch (compression_) {
      case Compression::kNone:
        return read_plain(out);
      case Compression::kGzip:
        return decompress(out, [this](std::span<char>& rest) { return step_gzip(rest); });
      case Compression::kXz:
        return decompress(out, [this](std::span<char>& rest) { return step_xz(rest); });
      case Compression::kZstd:
        return decompress(out, [this](std::span<char>& rest) { return step_zstd(rest); });
    }
    WHARF_UNREACHABLE();
  }

  /// Looks at the first bytes and opens the decoder that they call for.
  Result<void> start() {
    started_ = true;
    buffer_.resize(kRawBufferBytes);
    while (raw_.size() < kMagicBytes && !raw_ended_) WHARF_TRY(refill());
    compression_ = compression_of({raw_.data(), raw_.size()});
    switch (compression_) {
      case Compression::kNone:
        break;
      case Compression::kGzip:
        // 15: the largest window; 32: gzip or zlib header.
        WHARF_CHECK(inflateInit2(&gzip_, 15 + 32) == Z_OK);
        gzip_open_ = true;
        break;
      case Compression::kXz:
        WHARF_CHECK(lzma_stream_decoder(&xz_, kDecoderMemoryLimit, LZMA_CONCATENATED) == LZMA_OK);
        xz_open_ = true;
        break;
      case Compression::kZstd:
        zstd_ = ZSTD_createDStream();
        WHARF_CHECK(zstd_ != nullptr);
        break;
    }
    return {};
  }

  /// Adds bytes of the file behind those still in raw_.
  Result<void> refill() {
    if (file_ < 0) {
      raw_ = memory_;
      raw_ended_ = true;
      return {};
    }
    if (!raw_.empty()) std::memmove(buffer_.data(), raw_.data(), raw_.size());
    const std::size_t kept = raw_.size();
    ssize_t got;
    do {
      got = ::read(file_, buffer_.data() + kept, buffer_.size() - kept);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      return Error{ErrorKind::kEnvironment,
                   fmt::format("{}: cannot be read: {}", name_, std::strerror(errno))};
    }
    raw_ended_ = got == 0;
    raw_ = {buffer_.data(), kept + static_cast<std::size_t>(got)};
    return {};
  }

  Result<std::size_t> read_plain(std::span<char> out) {
    if (raw_.empty()) {
      if (raw_ended_) return std::size_t{0};
      if (file_ >= 0) return read_file(out);
      WHARF_TRY(refill());
    }
    const std::size_t count = std::min(out.size(), raw_.size());
    std::memcpy(out.data(), raw_.data(), count);
    raw_ = raw_.subspan(count);
    return count;
  }

  /// Straight into the caller's memory, past raw_.
  Result<std::size_t> read_file(std::span<char> out) {
    ssize_t got;
    do {
      got = ::read(file_, out.data(), out.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      return Error{ErrorKind::kEnvironment,
                   fmt::format("{}: cannot be read: {}", name_, std::strerror(errno))};
    }
    raw_ended_ = got == 0;
    return static_cast<std::size_t>(got);
  }

  template <typename StepFunction>
  Result<std::size_t> decompress(std::span<char> out, StepFunction&& step) {
    std::span<char> rest = out;
    while (rest.size() == out.size()) {
      if (raw_.empty() && !raw_ended_) WHARF_TRY(refill());
      if (raw_.empty() && stream_complete_) break;
      const std::size_t raw_before = raw_.size();
      const Step result = step(rest);
      if (result == Step::kDamaged) return damaged("is damaged");
      stream_complete_ = result == Step::kStreamEnd;
      const bool moved = raw_.size() != raw_before || rest.size() != out.size();
      if (!moved && raw_ended_) {
        if (stream_complete_) break;
        return damaged("ends early");
      }
    }
    return out.size() - rest.size();
  }

  Error damaged(const char* how) const {
    return input_error(fmt::format("{}: the {} stream {}, expected a whole one (is the file cut short?)",
                                   name_, name_of(compression_), how));
  }

  Step step_gzip(std::span<char>& rest) {
    // Files of several members follow each other without a mark.
    if (stream_complete_) inflateReset(&gzip_);
    gzip_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw_.data()));
    gzip_.avail_in = static_cast<uInt>(std::min<std::size_t>(raw_.size(), 1U << 30U));
    gzip_.next_out = reinterpret_cast<Bytef*>(rest.data());
    gzip_.avail_out = static_cast<uInt>(std::min<std::size_t>(rest.size(), 1U << 30U));
    const uInt in_before = gzip_.avail_in;
    const uInt out_before = gzip_.avail_out;
    const int result = inflate(&gzip_, Z_NO_FLUSH);
    raw_ = raw_.subspan(in_before - gzip_.avail_in);
    rest = rest.subspan(out_before - gzip_.avail_out);
    if (result == Z_STREAM_END) return Step::kStreamEnd;
    return result == Z_OK || result == Z_BUF_ERROR ? Step::kGoOn : Step::kDamaged;
  }

  Step step_xz(std::span<char>& rest) {
    xz_.next_in = reinterpret_cast<const std::uint8_t*>(raw_.data());
    xz_.avail_in = raw_.size();
    xz_.next_out = reinterpret_cast<std::uint8_t*>(rest.data());
    xz_.avail_out = rest.size();
    const lzma_ret result = lzma_code(&xz_, raw_.empty() && raw_ended_ ? LZMA_FINISH : LZMA_RUN);
    raw_ = raw_.subspan(raw_.size() - xz_.avail_in);
    rest = rest.subspan(rest.size() - xz_.avail_out);
    if (result == LZMA_STREAM_END) return Step::kStreamEnd;
    return result == LZMA_OK || result == LZMA_BUF_ERROR ? Step::kGoOn : Step::kDamaged;
  }

  Step step_zstd(std::span<char>& rest) {
    ZSTD_inBuffer in{raw_.data(), raw_.size(), 0};
    ZSTD_outBuffer out{rest.data(), rest.size(), 0};
    const std::size_t result = ZSTD_decompressStream(zstd_, &out, &in);
    raw_ = raw_.subspan(in.pos);
    rest = rest.subspan(out.pos);
    if (ZSTD_isError(result) != 0) return Step::kDamaged;
    return result == 0 ? Step::kStreamEnd : Step::kGoOn;
  }

  std::string name_;
  int file_;  ///< -1 when reading memory.
  std::span<const char> memory_;
  std::vector<char> buffer_;
  std::span<const char> raw_;              ///< Bytes of the file not yet consumed.
  std::array<char, kPeekBytes> peeked_{};  ///< Decompressed bytes to give before any other.
  std::size_t peeked_count_ = 0;
  bool raw_ended_ = false;
  bool started_ = false;
  bool stream_complete_ = false;  ///< The decoder stands at the end of a member.
  Compression compression_ = Compression::kNone;
  z_stream gzip_{};
  bool gzip_open_ = false;
  lzma_stream xz_ = LZMA_STREAM_INIT;
  bool xz_open_ = false;
  ZSTD_DStream* zstd_ = nullptr;
};

ByteSource::ByteSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return input_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  struct stat status {};
  if (fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(file);
    return input_error(fmt::format("{}: is a directory, expected a file", path));
  }
  return ByteSource(std::make_unique<State>(file, std::span<const char>{}, path));
}

ByteSource ByteSource::from_memory(std::span<const char> bytes, std::string name) {
  return ByteSource(std::make_unique<State>(-1, bytes, std::move(name)));
}

Result<std::size_t> ByteSource::read(std::span<char> out) { return state_->read(out); }

Result<std::string_view> ByteSource::peek() { return state_->peek(); }

const std::string& ByteSource::name() const { return state_->name(); }

}  // namespace wharf::sim
