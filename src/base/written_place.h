// SPDX-License-Identifier: Apache-2.0
// Where a file that appears whole belongs: the end of symbolic links, and never in place of a device or pipe.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace wharf {

struct WrittenPlace {
  std::filesystem::path file;  ///< With symbolic links followed; the name as given where there are none.
  bool through = false;        ///< A device, pipe or socket: written through, as replacing it would end it.

  /// Where to write what put_in_place() takes: beside the file, or in the folder for temporary files when
  /// the place is written through. A name that ends in `ending`.
  std::filesystem::path beside(std::string_view ending) const;
};

WrittenPlace written_place(const std::filesystem::path& file);

/// Moves the file `whole` to its place over an older one, or copies it there. Says kEnvironment in one
/// sentence when the system refuses. `whole` is gone afterwards unless that was so.
Result<void> put_in_place(const std::filesystem::path& whole, const WrittenPlace& place);

}  // namespace wharf
