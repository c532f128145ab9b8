// SPDX-License-Identifier: Apache-2.0
#include "python/captures.h"

#include "wire/dissect.h"

namespace wharf::python {

namespace py = pybind11;

Result<py::object> Frames::next() {
  wire::CapturedFrame frame;
  const auto more = reader_.next(frame);
  if (!more) return more.error();
  if (!*more) return py::object(py::none());
  const wire::Dissection dissection =
      wire::dissect(frame.bytes, static_cast<wire::LinkType>(frame.link_type));
  py::list fields;
  for (const wire::DissectLine& line : dissection.lines) {
    py::dict field;
    field["depth"] = line.depth;
    field["name"] = line.name;
    field["value"] = line.value;
    field["offset"] = line.offset;
    field["length"] = line.length;
    fields.append(std::move(field));
  }
  py::dict found;
  found["number"] = frame.number;
  found["time_s"] = frame.seconds;
  found["time_ps"] = frame.picoseconds;
  found["bytes"] = frame.bytes.size();
  found["source"] = dissection.source;
  found["destination"] = dissection.destination;
  found["summary"] = dissection.summary;
  found["status"] = std::string(wire::dissection_status(dissection));
  found["icrc"] = std::string(wire::icrc_state_text(dissection.icrc));
  found["reencodes"] = dissection.reencodes;
  found["fields"] = std::move(fields);
  return py::object(std::move(found));
}

}  // namespace wharf::python
