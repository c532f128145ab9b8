// SPDX-License-Identifier: Apache-2.0
#include "wire/compressed_file.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace wharf::wire {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;

bool starts_with(std::span<const std::byte> bytes, std::initializer_list<unsigned> magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](unsigned expected, std::byte byte) {
           return std::byte{static_cast<unsigned char>(expected)} == byte;
         });
}

Error too_large(std::string_view name, std::uint64_t bytes_max) {
  return input_error(
      fmt::format("{}: holds more than {} bytes once decompressed, expected at most that", name, bytes_max));
}

void append(std::vector<std::byte>& out, const std::array<unsigned char, kChunkBytes>& chunk,
            std::size_t length) {
  const auto* const first = reinterpret_cast<const std::byte*>(chunk.data());
  out.insert(out.end(), first, first + length);
}

/// Members of a gzip file follow one another.
Result<std::vector<std::byte>> decompress_gzip(std::span<const std::byte> bytes, std::string_view name,
                                               std::uint64_t bytes_max) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
    return Error{ErrorKind::kEnvironment, fmt::format("{}: zlib cannot start", name)};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closer(&stream, inflateEnd);
  std::vector<std::byte> out;
  std::array<unsigned char, kChunkBytes> chunk;
  std::size_t consumed = 0;
  while (true) {
    const std::size_t offered = std::min<std::size_t>(bytes.size() - consumed, std::size_t{1} << 30U);
    stream.next_in =
        const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data() + consumed));
    stream.avail_in = static_cast<unsigned>(offered);
    stream.next_out = chunk.data();
    stream.avail_out = kChunkBytes;
    const int status = inflate(&stream, Z_NO_FLUSH);
    consumed += offered - stream.avail_in;
    append(out, chunk, kChunkBytes - stream.avail_out);
    if (out.size() > bytes_max) return too_large(name, bytes_max);
    if (status == Z_STREAM_END) {
      if (consumed == bytes.size()) return out;
      if (inflateReset(&stream) != Z_OK) return input_error(fmt::format("{}: damaged gzip data", name));
    } else if (status != Z_OK) {
      if (status == Z_BUF_ERROR && consumed == bytes.size())
        return input_error(
            fmt::format("{}: ends at byte {} inside its gzip data, expected the rest", name, consumed));
      return input_error(
          fmt::format("{}: damaged gzip data near byte {}, expected an intact file", name, consumed));
    }
  }
}

Result<std::vector<std::byte>> decompress_xz(std::span<const std::byte> bytes, std::string_view name,
                                             std::uint64_t bytes_max) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, std::uint64_t{1} << 30U, LZMA_CONCATENATED) != LZMA_OK)
    return Error{ErrorKind::kEnvironment, fmt::format("{}: liblzma cannot start", name)};
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> closer(&stream, lzma_end);
  std::vector<std::byte> out;
  std::array<unsigned char, kChunkBytes> chunk;
  stream.next_in = reinterpret_cast<const unsigned char*>(bytes.data());
  stream.avail_in = bytes.size();
  while (true) {
    stream.next_out = chunk.data();
    stream.avail_out = kChunkBytes;
    const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
    append(out, chunk, kChunkBytes - stream.avail_out);
    if (out.size() > bytes_max) return too_large(name, bytes_max);
    if (status == LZMA_STREAM_END) return out;
    if (status == LZMA_BUF_ERROR && stream.avail_in == 0)
      return input_error(
          fmt::format("{}: ends at byte {} inside its xz data, expected the rest", name, bytes.size()));
    if (status != LZMA_OK)
      return input_error(fmt::format("{}: damaged xz data near byte {}, expected an intact file", name,
                                     bytes.size() - stream.avail_in));
  }
}

}  // namespace

Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes, std::string_view name,
                                          std::uint64_t bytes_max) {
  if (starts_with(bytes, {0x1f, 0x8b})) return decompress_gzip(bytes, name, bytes_max);
  if (starts_with(bytes, {0xfd, '7', 'z', 'X', 'Z', 0})) return decompress_xz(bytes, name, bytes_max);
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return input_error(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
  std::vector<std::byte> bytes;
  while (true) {
    const std::size_t had = bytes.size();
    if (had > kLargestFileBytes) return too_large(name, kLargestFileBytes);
    bytes.resize(had + kChunkBytes);
    const std::size_t got = std::fread(bytes.data() + had, 1, kChunkBytes, file.get());
    bytes.resize(had + got);
    if (got == 0) break;
  }
  if (std::ferror(file.get()) != 0)
    return input_error(fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
  if (starts_with(bytes, {0x1f, 0x8b}) || starts_with(bytes, {0xfd, '7', 'z', 'X', 'Z', 0}))
    return decompress(bytes, name);
  return bytes;
}

}  // namespace wharf::wire
