// SPDX-License-Identifier: Apache-2.0
// How much a test does under a sanitizer, the same for all of them.
#pragma once

#include <cstddef>

namespace wharf {

/// Whether a sanitizer watches this program: it takes about ten times as long, keeps what is freed and gives
/// every block margins.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Of the rows of a long table each so many-th is enough under a sanitizer: it looks at how code handles
/// memory, which is the same code for all of them. The verdict on each row is the plain program's.
inline constexpr std::size_t kEveryRow = kSanitized ? 4 : 1;

}  // namespace wharf
