// SPDX-License-Identifier: Apache-2.0
// wharf._wharf: what the Python package wharf (src/python/wharf) calls. Nothing raises here for a run that
// fails: the package turns statuses into exceptions.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "python/captures.h"
#include "python/columns.h"
#include "python/running.h"
#include "wharf/own_file.h"
#include "wharf/version.h"

namespace py = pybind11;

namespace wharf::python {
namespace {

RunSettings settings_of(std::string scenario, std::string text, std::string profile,
                        std::vector<std::string> keys) {
  return {.scenario = std::move(scenario),
          .text = std::move(text),
          .profile = std::move(profile),
          .keys = std::move(keys)};
}

/// (status, message) of an Error.
py::tuple refused(const Error& error) {
  constexpr int kFirst =
      static_cast<int>(RunStatus::kUsage);  // The kinds are in the order of the exit codes.
  return py::make_tuple(kFirst + static_cast<int>(error.kind), error.message);
}

py::object tables_of(const Ended& ended) {
  py::dict tables;
  if (const auto& report = ended.run.programs) {
    tables["operations"] = operation_columns(*report);
    tables["program"] = program_columns(*report);
  }
  if (const auto& flows = ended.run.flows) tables["flows"] = flow_columns(*flows);
  return tables;
}

std::vector<std::pair<std::string, std::string>> files_of(const Ended& ended) {
  std::vector<sim::ObservedFile> files;
  if (ended.run.flows) files = ended.run.flows->files();
  if (ended.run.programs && ended.run.programs->network)
    files = sim::files_of(*ended.run.programs->network, {});
  std::vector<std::pair<std::string, std::string>> named;
  for (sim::ObservedFile& file : files) named.emplace_back(std::move(file.name), std::move(file.text));
  return named;
}

}  // namespace
}  // namespace wharf::python

PYBIND11_MODULE(_wharf, module) {
  using namespace wharf::python;  // NOLINT(google-build-using-namespace): what the macro makes is a function.
  module.attr("version") = std::string(wharf::version());
  module.attr("commit") = std::string(wharf::commit());
  module.def("set_own_file", [](const std::string& file) { wharf::set_own_file(file); });

  py::class_<Interrupt, std::shared_ptr<Interrupt>>(module, "Interrupt")
      .def(py::init<>())
      .def("set", &Interrupt::set)
      .def("is_set", &Interrupt::is_set);

  py::class_<Ended>(module, "Ended")
      .def_readonly("status", &Ended::status)
      .def_readonly("message", &Ended::message)
      .def_property_readonly("failures", [](const Ended& ended) { return ended.run.result.failures; })
      .def_property_readonly("summary", [](const Ended& ended) { return ended.run.result.summary; })
      .def("tables", &tables_of)
      .def("files", &files_of);
  module.def(
      "run",
      [](std::string scenario, std::string text, std::string profile, std::vector<std::string> keys,
         const std::shared_ptr<Interrupt>& interrupt, const py::object& progress) {
        return run_now(settings_of(std::move(scenario), std::move(text), std::move(profile), std::move(keys)),
                       *interrupt, progress);
      },
      py::arg("scenario"), py::arg("text"), py::arg("profile"), py::arg("keys"), py::arg("interrupt"),
      py::arg("progress"));
  module.def("check", [](std::string scenario, std::string text, std::string profile,
                         std::vector<std::string> keys) {
    const wharf::CheckedSettings checked =
        check_now(settings_of(std::move(scenario), std::move(text), std::move(profile), std::move(keys)));
    return py::make_tuple(static_cast<int>(checked.result.status), checked.result.message, checked.flows,
                          checked.remarks, checked.effective);
  });

  py::class_<Frames>(module, "Frames").def("next", [](Frames& frames) -> py::object {
    auto frame = frames.next();
    if (!frame) return refused(frame.error());
    return *std::move(frame);
  });
  module.def("frames", [](const std::string& file) -> py::object {
    auto reader = [&file] {
      const py::gil_scoped_release unlocked;
      return wharf::wire::CaptureReader::open(file);
    }();
    if (!reader) return refused(reader.error());
    return py::cast(Frames(*std::move(reader)));
  });
}
