// SPDX-License-Identifier: Apache-2.0
// The skid buffer beside a Ring of two.
#include <gtest/gtest.h>

#include "Vwharf_skid_buffer.h"
#include "Vwharf_skid_buffer_planted.h"
#include "rtl/cosim/beat_queue.h"

namespace wharf::rtl {
namespace {

TEST(SkidBuffer, AgreesWithARingOfTwo) { expect_agreement<Vwharf_skid_buffer>(beat_queue(2), 20000); }

TEST(SkidBuffer, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_skid_buffer_planted>(beat_queue(2), "rtl/skid_buffer/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
