// SPDX-License-Identifier: Apache-2.0
#include "sim/host/replay/access_trace_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/written_place.h"

namespace wharf::sim {

namespace {

constexpr std::size_t kHeapRangesOffset = 84;
constexpr std::size_t kHeaderCrcOffset = kTraceHeaderBytes - 4;
static_assert(kHeapRangesOffset + 16 * TraceRegions::kMaxHeapRanges <= kHeaderCrcOffset);
constexpr std::uint32_t kFlagExactHeap = 1;
constexpr std::size_t kBlockHeaderBytes = 16;

/// Control word, difference, size, instructions.
constexpr std::size_t kMaxRecordBytes = 2 + 8 + 2 + 4;
constexpr std::size_t kMaxBlockBytes = kMaxRecordBytes * kTraceBlockRecords;
/// The decoder may read a whole record past the end before it notices.
constexpr std::size_t kPadding = 32;

constexpr std::uint32_t kExplicitSize = 7;
constexpr std::uint32_t kExplicitInstructions = 15;
constexpr std::array<std::uint16_t, 7> kSizes{1, 2, 4, 8, 16, 32, 64};
/// Differences this long or longer start a new stream of addresses.
constexpr unsigned kFarBytes = 4;

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1U) ^ (0 - (difference >> 63U));
}
constexpr std::uint64_t unzigzag(std::uint64_t coded) { return (coded >> 1U) ^ (0 - (coded & 1U)); }

constexpr unsigned length_of(std::uint64_t coded) {
  return (static_cast<unsigned>(std::bit_width(coded)) + 7U) / 8U;
}

/// Masks for the low n bytes.
constexpr std::array<std::uint64_t, 9> kByteMasks = [] {
  std::array<std::uint64_t, 9> masks{};
  for (unsigned i = 1; i <= 8; ++i) masks[i] = ~std::uint64_t{0} >> (64 - 8 * i);
  return masks;
}();

std::uint32_t crc_of(const std::byte* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes), count));
}

}  // namespace

// ---- Writing ----

class AccessTraceWriter::State {
 public:
  State(std::string path, WrittenPlace place, std::string partial, std::FILE* file, int level)
      : path_(std::move(path)),
        place_(std::move(place)),
        partial_(std::move(partial)),
        file_(file),
        level_(level) {
    raw_.reserve(kMaxBlockBytes);
    if (level_ > 0) {
      context_ = ZSTD_createCCtx();
      WHARF_CHECK(context_ != nullptr);
      stored_.resize(ZSTD_compressBound(kMaxBlockBytes));
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    ZSTD_freeCCtx(context_);
    if (file_ != nullptr) {
      std::fclose(file_);
      std::remove(partial_.c_str());
    }
  }

  Result<void> write(std::span<const TraceRecord> records) {
    for (const TraceRecord& record : records) {
      counts_.count(record);
      encode(record);
      if (++block_records_ == kTraceBlockRecords) WHARF_TRY(end_block());
    }
    return {};
  }

  Result<void> finish(const TraceRegions& regions) {
    if (block_records_ > 0) WHARF_TRY(end_block());
    std::array<std::byte, kTraceHeaderBytes> header{};
    std::memcpy(header.data(), kTraceMagic.data(), kTraceMagic.size());
    store_le32(&header[8], kTraceVersion);
    store_le32(&header[12], regions.exact ? kFlagExactHeap : 0);
    store_le64(&header[16], counts_.loads);
    store_le64(&header[24], counts_.stores);
    store_le64(&header[32], counts_.modifies);
    store_le64(&header[40], counts_.instructions);
    store_le64(&header[48], records_);
    store_le64(&header[56], blocks_);
    store_le64(&header[64], regions.stack.first);
    store_le64(&header[72], regions.stack.end);
    WHARF_CHECK(regions.heap.size() <= TraceRegions::kMaxHeapRanges);
    store_le32(&header[80], static_cast<std::uint32_t>(regions.heap.size()));
    for (std::size_t i = 0; i < regions.heap.size(); ++i) {
      store_le64(&header[kHeapRangesOffset + 16 * i], regions.heap[i].first);
      store_le64(&header[kHeapRangesOffset + 16 * i + 8], regions.heap[i].end);
    }
    store_le32(&header[kHeaderCrcOffset], crc_of(header.data(), kHeaderCrcOffset));
    if (std::fseek(file_, 0, SEEK_SET) != 0) return failure();
    if (std::fwrite(header.data(), header.size(), 1, file_) != 1) return failure();
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    const Result<void> done = closed ? put_in_place(partial_, place_) : failure();
    if (!done) std::remove(partial_.c_str());
    return done;
  }

  Result<void> reserve_header() {
    const std::array<std::byte, kTraceHeaderBytes> zeros{};
    if (std::fwrite(zeros.data(), zeros.size(), 1, file_) != 1) return failure();
    bytes_ = zeros.size();
    return {};
  }

  const TraceCounts& counts() const { return counts_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Error failure() const {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("{}: cannot be written: {}", path_, std::strerror(errno))};
  }

  void encode(const TraceRecord& record) {
    std::uint32_t slot = 0;
    std::uint64_t coded = 0;
    std::uint32_t size_code = 0;
    if (record.kind != TraceKind::kInstructions) {
      slot = choose_slot(record.address, coded);
      slots_[slot] = record.address;
      slot_used_[slot] = ++clock_;
      size_code =
          static_cast<std::uint32_t>(std::find(kSizes.begin(), kSizes.end(), record.size) - kSizes.begin());
    }
    const unsigned length = length_of(coded);
    const std::uint32_t instructions = std::min(record.instructions, kExplicitInstructions);
    append(static_cast<std::uint32_t>(record.kind) | size_code << 2U | slot << 5U | instructions << 8U |
               length << 12U,
           2);
    append(coded, length);
    if (size_code == kExplicitSize) append(record.size, 2);
    if (instructions == kExplicitInstructions) append(record.instructions, 4);
  }

  std::uint32_t choose_slot(std::uint64_t address, std::uint64_t& coded) const {
    std::uint32_t best = 0;
    std::uint32_t oldest = 0;
    coded = zigzag(address - slots_[0]);
    for (std::uint32_t i = 1; i < kTraceSlots; ++i) {
      const std::uint64_t candidate = zigzag(address - slots_[i]);
      if (candidate < coded) {
        coded = candidate;
        best = i;
      }
      if (slot_used_[i] < slot_used_[oldest]) oldest = i;
    }
    if (length_of(coded) < kFarBytes) return best;
    coded = zigzag(address - slots_[oldest]);
    return oldest;
  }

  void append(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) raw_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }

  Result<void> end_block() {
    const std::byte* stored = raw_.data();
    std::size_t stored_bytes = raw_.size();
    if (level_ > 0) {
      const std::size_t size =
          ZSTD_compressCCtx(context_, stored_.data(), stored_.size(), raw_.data(), raw_.size(), level_);
      WHARF_CHECK(ZSTD_isError(size) == 0);
      if (size < raw_.size()) {
        stored = stored_.data();
        stored_bytes = size;
      }
    }
    std::array<std::byte, kBlockHeaderBytes> header;
    store_le32(&header[0], block_records_);
    store_le32(&header[4], static_cast<std::uint32_t>(raw_.size()));
    store_le32(&header[8], static_cast<std::uint32_t>(stored_bytes));
    store_le32(&header[12], crc_of(stored, stored_bytes));
    if (std::fwrite(header.data(), header.size(), 1, file_) != 1) return failure();
    if (std::fwrite(stored, stored_bytes, 1, file_) != 1) return failure();
    bytes_ += header.size() + stored_bytes;
    records_ += block_records_;
    ++blocks_;
    block_records_ = 0;
    raw_.clear();
    slots_.fill(0);
    slot_used_.fill(0);
    return {};
  }

  std::string path_;
  WrittenPlace place_;
  std::string partial_;  ///< The name until finish().
  std::FILE* file_;
  int level_;
  ZSTD_CCtx* context_ = nullptr;
  std::vector<std::byte> raw_;
  std::vector<std::byte> stored_;
  std::uint32_t block_records_ = 0;
  std::array<std::uint64_t, kTraceSlots> slots_{};
  std::array<std::uint64_t, kTraceSlots> slot_used_{};
  std::uint64_t clock_ = 0;
  TraceCounts counts_;
  std::uint64_t records_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
};

AccessTraceWriter::AccessTraceWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
AccessTraceWriter::AccessTraceWriter(AccessTraceWriter&&) noexcept = default;
AccessTraceWriter& AccessTraceWriter::operator=(AccessTraceWriter&&) noexcept = default;
AccessTraceWriter::~AccessTraceWriter() = default;

Result<AccessTraceWriter> AccessTraceWriter::create(const std::string& path, int compression_level) {
  WHARF_CHECK(compression_level >= 0 && compression_level <= 19);
  WrittenPlace place = written_place(path);
  std::string partial = place.beside(fmt::format(".partial{}", getpid())).string();
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  if (file == nullptr) {
    return Error{ErrorKind::kEnvironment,
                 fmt::format("{}: cannot be created: {}", path, std::strerror(errno))};
  }
  auto state = std::make_unique<State>(path, std::move(place), std::move(partial), file, compression_level);
  WHARF_TRY(state->reserve_header());
  return AccessTraceWriter(std::move(state));
}

Result<void> AccessTraceWriter::write(std::span<const TraceRecord> records) { return state_->write(records); }
Result<void> AccessTraceWriter::finish(const TraceRegions& regions) { return state_->finish(regions); }
const TraceCounts& AccessTraceWriter::counts() const { return state_->counts(); }
std::uint64_t AccessTraceWriter::bytes_written() const { return state_->bytes(); }

// ---- Reading ----

class AccessTraceFileReader::State {
 public:
  explicit State(ByteSource source) : source_(std::move(source)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ZSTD_freeDCtx(context_); }

  Result<void> read_header() {
    std::array<std::byte, kTraceHeaderBytes> header;
    const Result<std::size_t> got = read_up_to(header);
    if (!got) return got.error();
    const std::string_view magic{reinterpret_cast<const char*>(header.data()),
                                 std::min(*got, kTraceMagic.size())};
    if (magic != kTraceMagic) {
      return refuse("does not begin like a memory trace", "the magic \"WHARFMT\" that wharf import writes");
    }
    if (*got < header.size()) {
      return refuse(fmt::format("ends after {} bytes", *got),
                    fmt::format("a header of {} bytes", header.size()));
    }
    const std::uint32_t version = load_le32(&header[8]);
    if (version != kTraceVersion) {
      return refuse(fmt::format("has version {}", version), fmt::format("version {}", kTraceVersion));
    }
    if (load_le32(&header[kHeaderCrcOffset]) != crc_of(header.data(), kHeaderCrcOffset)) {
      return refuse("has a damaged header", "a header with a matching checksum");
    }
    promised_ = {load_le64(&header[16]), load_le64(&header[24]), load_le64(&header[32]),
                 load_le64(&header[40])};
    records_promised_ = load_le64(&header[48]);
    blocks_promised_ = load_le64(&header[56]);
    regions_.stack = {load_le64(&header[64]), load_le64(&header[72])};
    const std::uint32_t ranges = load_le32(&header[80]);
    if (ranges > TraceRegions::kMaxHeapRanges) {
      return refuse(fmt::format("names {} heap ranges", ranges),
                    fmt::format("at most {}", TraceRegions::kMaxHeapRanges));
    }
    for (std::uint32_t i = 0; i < ranges; ++i) {
      const std::byte* at = &header[kHeapRangesOffset + std::size_t{16} * i];
      regions_.add_heap({load_le64(at), load_le64(at + 8)});
    }
    regions_.exact = (load_le32(&header[12]) & kFlagExactHeap) != 0;
    return {};
  }

  Result<std::size_t> read(std::span<TraceRecord> out) {
    WHARF_CHECK(!out.empty());
    std::size_t count = 0;
    while (count < out.size()) {
      if (left_in_block_ == 0) {
        if (blocks_ == blocks_promised_) {
          if (!ended_) WHARF_TRY(check_end());
          break;
        }
        WHARF_TRY(read_block());
      }
      const std::size_t batch = std::min<std::size_t>(out.size() - count, left_in_block_);
      if (!decode(out.subspan(count, batch))) return refuse_block("has a damaged record", "whole records");
      count += batch;
      left_in_block_ -= static_cast<std::uint32_t>(batch);
      if (left_in_block_ == 0 && at_ != block_end_) {
        return refuse_block("has bytes behind its last record", "whole records");
      }
    }
    return count;
  }

  const TraceRegions& regions() const { return regions_; }
  const TraceCounts& counts() const { return promised_; }

 private:
  Error refuse(const std::string& found, const std::string& expected) const {
    return input_error(fmt::format("{}: {}, expected {}", source_.name(), found, expected));
  }
  Error refuse_block(const std::string& found, const std::string& expected) const {
    return refuse(fmt::format("block {} of {} {}", blocks_, blocks_promised_, found), expected);
  }

  /// Fewer bytes than asked for at the end of the file only.
  Result<std::size_t> read_up_to(std::span<std::byte> out) {
    std::size_t count = 0;
    while (count < out.size()) {
      const Result<std::size_t> got =
          source_.read({reinterpret_cast<char*>(out.data()) + count, out.size() - count});
      if (!got) return got.error();
      if (*got == 0) break;
      count += *got;
    }
    return count;
  }

  Result<void> read_block() {
    ++blocks_;
    std::array<std::byte, kBlockHeaderBytes> header;
    const Result<std::size_t> header_got = read_up_to(header);
    if (!header_got) return header_got.error();
    if (*header_got < header.size()) return refuse_block("is missing", "as many blocks as the header says");
    const std::uint32_t records = load_le32(&header[0]);
    const std::uint32_t raw_bytes = load_le32(&header[4]);
    const std::uint32_t stored_bytes = load_le32(&header[8]);
    if (records == 0 || records > kTraceBlockRecords || raw_bytes < 2 * std::size_t{records} ||
        raw_bytes > kMaxRecordBytes * std::size_t{records} || stored_bytes == 0 || stored_bytes > raw_bytes) {
      return refuse_block(
          fmt::format("says {} records in {} bytes stored as {}", records, raw_bytes, stored_bytes),
          fmt::format("1 to {} records of 2 to {} bytes", kTraceBlockRecords, kMaxRecordBytes));
    }
    raw_.resize(kMaxBlockBytes + kPadding);
    const bool compressed = stored_bytes < raw_bytes;
    if (compressed) stored_.resize(kMaxBlockBytes);
    const std::span<std::byte> target{compressed ? stored_.data() : raw_.data(), stored_bytes};
    const Result<std::size_t> got = read_up_to(target);
    if (!got) return got.error();
    if (*got < stored_bytes) {
      return refuse_block(fmt::format("ends after {} bytes", *got), fmt::format("{} bytes", stored_bytes));
    }
    if (crc_of(target.data(), target.size()) != load_le32(&header[12])) {
      return refuse_block("is damaged", "bytes with a matching checksum");
    }
    if (compressed) {
      if (context_ == nullptr) context_ = ZSTD_createDCtx();
      WHARF_CHECK(context_ != nullptr);
      const std::size_t size =
          ZSTD_decompressDCtx(context_, raw_.data(), raw_bytes, stored_.data(), stored_bytes);
      if (ZSTD_isError(size) != 0 || size != raw_bytes) {
        return refuse_block("cannot be decompressed", fmt::format("zstd data of {} bytes", raw_bytes));
      }
    }
    at_ = raw_.data();
    block_end_ = raw_.data() + raw_bytes;
    std::memset(raw_.data() + raw_bytes, 0, kPadding);
    slots_.fill(0);
    left_in_block_ = records;
    records_ += records;
    return {};
  }

  Result<void> check_end() {
    ended_ = true;
    std::array<std::byte, 1> more;
    const Result<std::size_t> got = read_up_to(more);
    if (!got) return got.error();
    if (*got != 0) return refuse("goes on behind its last block", "the end of the file");
    if (records_ != records_promised_ || read_ != promised_) {
      return refuse(fmt::format("holds {} records with {} accesses", records_, read_.accesses()),
                    fmt::format("{} records with {} accesses as its header says", records_promised_,
                                promised_.accesses()));
    }
    return {};
  }

  /// Decodes out.size() records; false when they are no records or leave the block.
  bool decode(std::span<TraceRecord> out) {
    const std::byte* at = at_;
    const std::byte* const end = block_end_;
    std::uint64_t instructions_sum = 0;
    std::array<std::uint64_t, 4> kinds{};
    for (TraceRecord& record : out) {
      std::uint16_t control;
      std::memcpy(&control, at, sizeof control);
      const unsigned length = control >> 12U;
      if (length > 8) return false;
      const std::uint64_t coded = load_le64(at + 2) & kByteMasks[length];
      at += 2 + length;
      const unsigned kind = control & 3U;
      const unsigned size_code = (control >> 2U) & 7U;
      std::uint64_t& slot = slots_[(control >> 5U) & 7U];
      std::uint32_t size = 1U << size_code;
      if (size_code == kExplicitSize) [[unlikely]] {
        size = load_u8(at) | std::uint32_t{load_u8(at + 1)} << 8U;
        at += 2;
      }
      std::uint32_t instructions = (control >> 8U) & 15U;
      if (instructions == kExplicitInstructions) [[unlikely]] {
        instructions = load_le32(at);
        at += 4;
      }
      if (at > end) return false;
      instructions_sum += instructions;
      ++kinds[kind];
      record.instructions = instructions;
      record.kind = static_cast<TraceKind>(kind);
      if (record.kind == TraceKind::kInstructions) [[unlikely]] {
        if ((control & 0xF0FCU) != 0) return false;
        record.address = 0;
        record.size = 0;
        continue;
      }
      slot += unzigzag(coded);
      record.address = slot;
      record.size = static_cast<std::uint16_t>(size);
      if (size == 0 || slot > std::numeric_limits<std::uint64_t>::max() - size) return false;
    }
    at_ = at;
    read_.loads += kinds[0];
    read_.stores += kinds[1];
    read_.modifies += kinds[2];
    read_.instructions += instructions_sum;
    return true;
  }

  ByteSource source_;
  TraceRegions regions_;
  TraceCounts promised_;
  TraceCounts read_;
  std::uint64_t records_promised_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t blocks_promised_ = 0;
  std::uint64_t blocks_ = 0;  ///< Begun.
  bool ended_ = false;
  std::vector<std::byte> raw_;
  std::vector<std::byte> stored_;
  ZSTD_DCtx* context_ = nullptr;
  const std::byte* at_ = nullptr;
  const std::byte* block_end_ = nullptr;
  std::uint32_t left_in_block_ = 0;
  std::array<std::uint64_t, kTraceSlots> slots_{};
};

AccessTraceFileReader::AccessTraceFileReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
AccessTraceFileReader::AccessTraceFileReader(AccessTraceFileReader&&) noexcept = default;
AccessTraceFileReader& AccessTraceFileReader::operator=(AccessTraceFileReader&&) noexcept = default;
AccessTraceFileReader::~AccessTraceFileReader() = default;

Result<AccessTraceFileReader> AccessTraceFileReader::open(ByteSource source) {
  auto state = std::make_unique<State>(std::move(source));
  WHARF_TRY(state->read_header());
  return AccessTraceFileReader(std::move(state));
}

Result<std::size_t> AccessTraceFileReader::read(std::span<TraceRecord> out) { return state_->read(out); }
const TraceRegions& AccessTraceFileReader::regions() const { return state_->regions(); }
const TraceCounts& AccessTraceFileReader::counts() const { return state_->counts(); }

}  // namespace wharf::sim
