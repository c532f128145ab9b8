// SPDX-License-Identifier: Apache-2.0
// Errors that a caller can act on are values: Result<T> holds a T or an Error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace wharf {

/// What kind of thing went wrong. The command line maps each kind to one exit code.
enum class ErrorKind : unsigned char {
  kUsage,        ///< The command line cannot be understood: exit code 2.
  kInput,        ///< Something named or contained in it is wrong: exit code 3.
  kEnvironment,  ///< Missing library, busy port, no permission, output not writable: exit code 4.
  kStalled,      ///< The run stopped making progress or timed out: exit code 5.
};

/// One refusal: a single sentence that names the place, the value found, what was expected and the nearest
/// valid choice.
struct Error {
  ErrorKind kind = ErrorKind::kInput;
  std::string message;
};

/// An Error of kind kInput, by far the commonest.
inline Error input_error(std::string message) { return Error{ErrorKind::kInput, std::move(message)}; }

/// A value or an Error. Reading the wrong side aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(*-explicit-*)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    WHARF_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    WHARF_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    WHARF_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    WHARF_CHECK(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    WHARF_CHECK(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(*-explicit-*)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    WHARF_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace wharf

/// Returns the Error of `expression` (a Result<void>) from the enclosing function, if there is one.
#define WHARF_TRY(expression)                                                                     \
  do {                                                                                            \
    if (auto wharf_try_result = (expression); !wharf_try_result) return wharf_try_result.error(); \
  } while (false)
