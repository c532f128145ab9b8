// SPDX-License-Identifier: Apache-2.0
// The data path of remote direct memory operations in its two published layouts. A request is an active
// message 0 whose header is an RDMO header and an operation header, and whose payload is data. [DOCA UROM
// RDMO Application Guide, "RDMO Server"; doca-samples 3.0 to 3.3, applications/urom_rdmo]
//
//   shipped   0-7 client | 8-11 operation | 12-15 flags | FLUSH   16-23 flush id
//                                                       | APPEND  16-23 cell | 24-31 cell key | 32-39 data
//                                                       key | SCATTER 16-23 count
//   guide     0-3 client | 4-7 operation  | 8-11 flags  | FLUSH   12-19 flush id
//                                                       | APPEND  12-19 cell | 20-21 cell key | 22-23 data
//                                                       key | 24-27 zero | SCATTER 12-19 count
//   response  shipped 0-3 zero | 4-11 flush id          guide 0-1 zero | 2-9 flush id
//   entry     0-7 address | 8-15 key | 16-17 length | 18-23 zero, then its data, in the payload of a SCATTER
//
// The two documents differ; the shipped layout is the default. Integers are little-endian: neither converts
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace wharf::wire {

/// Active-message ids: the published forms, in both directions, and wharf's extended one.
inline constexpr std::uint32_t kRdmoMessageId = 0;
inline constexpr std::uint32_t kRdmoExtendedMessageId = 1;

/// The longest header of any form. A longer one is refused before it is looked at.
inline constexpr std::uint32_t kRdmoHeaderBytesMax = 64;
/// A scatter entry without its data. Entries follow each other without padding, so they are unaligned.
inline constexpr std::uint32_t kRdmoEntryBytes = 24;
/// Data of one scatter entry: its length has 16 bits.
inline constexpr std::uint32_t kRdmoEntryDataMax = 65535;
/// The cell that an append advances.
inline constexpr std::uint32_t kRdmoCellBytes = 8;

enum class RdmoLayout : std::uint8_t {
  kShipped,  ///< As the shipped worker and client speak.
  kGuide,    ///< As the guide prints it: 32-bit client ids, 16-bit keys.
};

enum class RdmoOperation : std::uint32_t { kFlush = 0, kAppend = 1, kScatter = 2 };

/// Bit 0. Choice: the guide names the flag without a value, which would be zero in C and say nothing.
inline constexpr std::uint32_t kRdmoFence = 1;

/// One request of a published form. Fields of other operations are zero.
struct RdmoRequest {
  std::uint64_t client = 0;  ///< The id that the target gave itself in CLIENT_INIT.
  RdmoOperation operation = RdmoOperation::kFlush;
  bool fence = false;
  std::uint64_t flush_id = 0;
  std::uint64_t cell = 0;  ///< Where the 8 bytes lie that say where the next append goes.
  std::uint64_t cell_key = 0;
  std::uint64_t data_key = 0;
  std::uint64_t count = 0;  ///< Entries of a scatter.
  bool operator==(const RdmoRequest&) const = default;
};

enum class RdmoError : std::uint8_t {
  kNone,
  kShort,      ///< The header ends before its fields do.
  kLong,       ///< Longer than any header may be.
  kOperation,  ///< No such operation.
  kVersion,    ///< Extended form: another version.
  kFlags,      ///< Extended form: a flag that the operation does not have, or that nobody has.
};

struct RdmoHeaderBytes {
  std::uint32_t fixed = 0, flush = 0, append = 0, scatter = 0, response = 0;
};
/// Bytes of the headers of a layout, the fixed one included. Choice: the guide's append header is what a C
/// compiler makes of its fields, four bytes at its end included; they carry nothing, and a sender may leave
/// them out.
constexpr RdmoHeaderBytes header_bytes(RdmoLayout layout) {
  return layout == RdmoLayout::kShipped ? RdmoHeaderBytes{16, 24, 40, 24, 12}
                                        : RdmoHeaderBytes{12, 20, 28, 20, 10};
}

/// Writes the header of `request` to `out` (kRdmoHeaderBytesMax bytes of room) and returns its length. The
/// guide's layout keeps the low bits of what it has no room for; fits() says whether that loses any.
inline std::uint32_t encode(const RdmoRequest& request, RdmoLayout layout, std::byte* out) {
  const RdmoHeaderBytes bytes = header_bytes(layout);
  const bool guide = layout == RdmoLayout::kGuide;
  if (guide) {
    store_le32(out, static_cast<std::uint32_t>(request.client));
  } else {
    store_le64(out, request.client);
  }
  store_le32(out + bytes.fixed - 8, static_cast<std::uint32_t>(request.operation));
  store_le32(out + bytes.fixed - 4, request.fence ? kRdmoFence : 0);
  std::byte* at = out + bytes.fixed;
  if (request.operation == RdmoOperation::kFlush) {
    store_le64(at, request.flush_id);
    return bytes.flush;
  }
  if (request.operation == RdmoOperation::kScatter) {
    store_le64(at, request.count);
    return bytes.scatter;
  }
  store_le64(at, request.cell);
  if (guide) {
    store_le32(at + 8, static_cast<std::uint32_t>((request.cell_key & 0xffffU) | (request.data_key << 16U)));
    store_le32(at + 12, 0);
  } else {
    store_le64(at + 8, request.cell_key);
    store_le64(at + 16, request.data_key);
  }
  return bytes.append;
}

/// Whether the layout can say all of `request`.
constexpr bool fits(const RdmoRequest& request, RdmoLayout layout) {
  return layout == RdmoLayout::kShipped ||
         (request.client <= 0xffff'ffffU && request.cell_key <= 0xffffU && request.data_key <= 0xffffU);
}

/// Reads a header. Bytes behind its fields, up to kRdmoHeaderBytesMax in all, are ignored, and so are unknown
/// flags: the published forms say nothing of either.
inline RdmoError decode(std::span<const std::byte> header, RdmoLayout layout, RdmoRequest& out) {
  const RdmoHeaderBytes bytes = header_bytes(layout);
  const bool guide = layout == RdmoLayout::kGuide;
  if (header.size() > kRdmoHeaderBytesMax) return RdmoError::kLong;
  if (header.size() < bytes.fixed) return RdmoError::kShort;
  out = {};
  out.client = guide ? load_le32(header.data()) : load_le64(header.data());
  const std::uint32_t operation = load_le32(header.data() + bytes.fixed - 8);
  if (operation > static_cast<std::uint32_t>(RdmoOperation::kScatter)) return RdmoError::kOperation;
  out.operation = static_cast<RdmoOperation>(operation);
  out.fence = (load_le32(header.data() + bytes.fixed - 4) & kRdmoFence) != 0;
  const std::byte* at = header.data() + bytes.fixed;
  const std::size_t rest = header.size() - bytes.fixed;
  if (out.operation == RdmoOperation::kAppend) {
    if (rest < (guide ? 12U : 24U)) return RdmoError::kShort;
    out.cell = load_le64(at);
    const std::uint64_t keys = guide ? load_le32(at + 8) : 0;
    out.cell_key = guide ? keys & 0xffffU : load_le64(at + 8);
    out.data_key = guide ? keys >> 16U : load_le64(at + 16);
    return RdmoError::kNone;
  }
  if (rest < 8) return RdmoError::kShort;
  (out.operation == RdmoOperation::kFlush ? out.flush_id : out.count) = load_le64(at);
  return RdmoError::kNone;
}

/// Writes the answer to a flush and returns its length. The id is unaligned in both layouts.
inline std::uint32_t encode_rdmo_response(std::uint64_t flush_id, RdmoLayout layout, std::byte* out) {
  const std::uint32_t at = header_bytes(layout).response - 8;
  std::memset(out, 0, at);
  store_le64(out + at, flush_id);
  return at + 8;
}

/// Reads one; it answers nothing but flushes.
inline RdmoError decode_rdmo_response(std::span<const std::byte> header, RdmoLayout layout,
                                      std::uint64_t& flush_id) {
  const std::uint32_t bytes = header_bytes(layout).response;
  if (header.size() > kRdmoHeaderBytesMax) return RdmoError::kLong;
  if (header.size() < bytes) return RdmoError::kShort;
  for (std::uint32_t i = 0; i < bytes - 8; ++i) {
    if (header[i] != std::byte{0}) return RdmoError::kOperation;
  }
  flush_id = load_le64(header.data() + bytes - 8);
  return RdmoError::kNone;
}

/// One place of a scatter.
struct RdmoEntry {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::uint16_t length = 0;
  bool operator==(const RdmoEntry&) const = default;
};

/// Writes the 24 bytes before the entry's data.
inline void encode(const RdmoEntry& entry, std::byte* at) {
  store_le64(at, entry.address);
  store_le64(at + 8, entry.key);
  store_le64(at + 16, entry.length);
}

/// Walks the entries of a scatter's payload. `next()` is false at the end and at an entry that is not all
/// there; `whole()` then says whether the payload ended exactly behind the last entry.
class RdmoEntryReader {
 public:
  explicit RdmoEntryReader(std::span<const std::byte> payload) : rest_(payload) {}

  bool next(RdmoEntry& entry, std::span<const std::byte>& data) {
    if (rest_.size() < kRdmoEntryBytes) return false;
    entry.address = load_le64(rest_.data());
    entry.key = load_le64(rest_.data() + 8);
    entry.length = static_cast<std::uint16_t>(load_le32(rest_.data() + 16));
    if (rest_.size() - kRdmoEntryBytes < entry.length) return false;
    data = rest_.subspan(kRdmoEntryBytes, entry.length);
    rest_ = rest_.subspan(kRdmoEntryBytes + std::size_t{entry.length});
    return true;
  }
  bool whole() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace wharf::wire
