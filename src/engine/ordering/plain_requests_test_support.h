// SPDX-License-Identifier: Apache-2.0
// Requests as tests of the queue write them.
#pragma once

#include "engine/ordering/rlsq.h"
#include "engine/ordering/toy_memory_test_support.h"

namespace wharf::ordering {

inline RlsqConfig with(RlsqDesign design) {
  RlsqConfig config;
  config.design = design;
  return config;
}

/// A one-line request; tag and number are the same.
inline Request read(std::uint32_t tag, LineNumber line, Label label = Label::kRelaxed,
                    std::uint32_t thread = 0) {
  Request request;
  request.kind = Kind::kRead;
  request.label = label;
  request.domain.thread = thread;
  request.number = tag;
  request.tag = tag;
  request.line = line;
  return request;
}
inline Request write(std::uint32_t tag, LineNumber line, std::uint64_t word, Label label = Label::kRelaxed,
                     std::uint32_t thread = 0) {
  Request request = read(tag, line, label, thread);
  request.kind = Kind::kWrite;
  request.mask = byte_mask(0, 8);
  request.bytes = line_of_word(word);
  return request;
}

}  // namespace wharf::ordering
