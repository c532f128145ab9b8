// SPDX-License-Identifier: Apache-2.0
// Somebody else's program, run to its end for what it prints.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wharf::live {

/// The file of a program of that name where PATH says; empty: there is none.
std::string path_of(std::string_view program);

class ToolProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  /// Starts `words[0]`, which PATH finds, with variables besides those of this process. Errors: kEnvironment.
  static Result<ToolProcess> start(const std::vector<std::string>& words, const Environment& variables);
  ToolProcess(ToolProcess&& other) noexcept;
  ToolProcess& operator=(ToolProcess&&) = delete;
  /// Kills it, if it has not ended.
  ~ToolProcess();

  /// Its exit code, 128 and the signal that ended it, or nothing: it still runs after `patience`, or `stop`
  /// was set.
  std::optional<int> wait(TimePs patience, const std::atomic<bool>& stop);
  /// What it has printed so far.
  std::string output() const { return contents_of(output_); }
  std::string errors() const { return contents_of(errors_); }

 private:
  ToolProcess(pid_t process, int output, int errors) : process_(process), output_(output), errors_(errors) {}
  static std::string contents_of(int descriptor);
  pid_t process_;
  int output_;
  int errors_;
  std::optional<int> ended_;
};

}  // namespace wharf::live
