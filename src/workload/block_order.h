// SPDX-License-Identifier: Apache-2.0
// In which order a program visits the blocks of its region.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/random.h"
#include "workload/choice.h"

namespace wharf::workload {

enum class BlockOrder : std::uint8_t {
  kSequential,  ///< Block by block, from the first again after the last.
  kRandom,      ///< Each block equally likely, independent of the ones before.
};
inline constexpr std::array<Choice<BlockOrder>, 2> kBlockOrderChoices{
    {{"sequential", BlockOrder::kSequential}, {"random", BlockOrder::kRandom}}};

template <typename Keys>
void bind_keys(BlockOrder& order, Keys& keys) {
  keys.choice("order", order, std::span<const Choice<BlockOrder>>(kBlockOrderChoices),
              "whether blocks are visited in order or at random");
}

/// The block that operation `number` visits.
inline std::uint64_t choose_block(BlockOrder order, std::uint64_t number, std::uint64_t blocks,
                                  RandomStream& random) {
  return order == BlockOrder::kSequential ? number % blocks : random.below(blocks);
}

}  // namespace wharf::workload
