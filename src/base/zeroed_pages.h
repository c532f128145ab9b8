// SPDX-License-Identifier: Apache-2.0
// Zeroed memory in one piece, on huge pages where it is large and the system has them.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace wharf {

/// Zeroed bytes that start at a multiple of kAlignment. From kHugePage bytes on they start at a multiple of
/// that, and the system is asked for huge pages: a walk without locality through 16 MiB of small pages spends
/// more time on address translation than on the data. Memory from half of
/// kHugePage on is taken when it is touched, a whole huge page at a time where there are any.
class ZeroedPages {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20U;

  ZeroedPages() = default;
  /// `bytes` may be 0. Where the system gives no more memory, the result is empty() although `bytes` is not
  /// 0.
  explicit ZeroedPages(std::size_t bytes);
  ZeroedPages(ZeroedPages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ZeroedPages& operator=(ZeroedPages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ZeroedPages();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  bool empty() const { return data_ == nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An array of `T`, for which all bytes zero is a value, in ZeroedPages. Where there is no memory left,
/// making one throws std::bad_alloc, as every container does.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= ZeroedPages::kAlignment);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t count) : pages_(count * sizeof(T)) {
    if (count != 0 && pages_.empty()) throw std::bad_alloc();
  }

  T& operator[](std::size_t index) const { return data()[index]; }
  T* data() const { return reinterpret_cast<T*>(pages_.data()); }
  std::size_t size() const { return pages_.size() / sizeof(T); }

 private:
  ZeroedPages pages_;
};

}  // namespace wharf
