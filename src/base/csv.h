// SPDX-License-Identifier: Apache-2.0
// One rule of RFC 4180: when and how a CSV field is quoted.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace wharf {

/// Appends `field` to `line`, in quotes (inner quotes doubled) when it holds a comma, a quote or a line
/// break.
void append_csv_field(std::string& line, std::string_view field);

/// Appends the fields, separated by commas, and a line feed.
void append_csv_row(std::string& text, std::initializer_list<std::string_view> fields);

}  // namespace wharf
