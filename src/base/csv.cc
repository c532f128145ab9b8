// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

namespace wharf {

void append_csv_field(std::string& line, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += field;
    return;
  }
  line += '"';
  for (const char c : field) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void append_csv_row(std::string& text, std::initializer_list<std::string_view> fields) {
  bool first = true;
  for (const std::string_view field : fields) {
    if (!first) text += ',';
    first = false;
    append_csv_field(text, field);
  }
  text += '\n';
}

}  // namespace wharf
