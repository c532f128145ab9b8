// SPDX-License-Identifier: Apache-2.0
// Connections to a listener of UCX that have said nothing. UCX 1.13 takes every TCP connection, keeps it
// until the other end goes, and tells of it only when it has introduced itself; so who connects and is silent
// takes a descriptor for nothing. This process can see them all the same, and end them: UCX closes what has
// ended.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/result.h"
#include "base/time.h"

namespace wharf::live {

class SilentConnections {
 public:
  /// More are silent at no time: the oldest go.
  static constexpr std::size_t kMost = 64;

  /// Of connections that were taken at `port`; of any other socket this process may have, nothing is touched.
  static Result<SilentConnections> at(std::uint16_t port);
  /// Ends those that have been silent for `patience`, and the oldest of too many. Gives how many. Looks at
  /// all descriptors now and then, however often it is called.
  std::size_t look(TimePs now, TimePs patience);

 private:
  static constexpr TimePs kLookEvery = milliseconds(200);
  struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  struct Silent {
    int descriptor = -1;
    TimePs since;
  };

  std::unique_ptr<DIR, CloseFolder> descriptors_;  ///< Kept open: when it is needed most, there is none left.
  std::uint16_t port_ = 0;
  TimePs next_ = kTimeZero;
  std::map<ino_t, Silent> silent_;  ///< By what the system calls the socket: descriptors are given again.
};

}  // namespace wharf::live
