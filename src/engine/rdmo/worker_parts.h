// SPDX-License-Identifier: Apache-2.0
// What a worker is made of: the state, and the parts that hold its rules. Apart, so that parts keep their
// addresses when a worker is moved.
#pragma once

#include <utility>

#include "engine/rdmo/worker.h"

namespace wharf::rdmo {

struct Worker::Parts {
  explicit Parts(WorkerConfig config)
      : core(std::move(config)),
        appends(core),
        scatters(core),
        write_back(core, appends),
        control(core, appends, write_back) {}

  WorkerCore core;
  Appends appends;
  Scatters scatters;
  WriteBack write_back;
  Control control;
};

}  // namespace wharf::rdmo
