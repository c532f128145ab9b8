# SPDX-License-Identifier: Apache-2.0
# Which sources can be compiled as one (docs/decisions/0052). Reads C++ sources formatted as .clang-format says, so that
# what a namespace holds starts in the first column; prints "GROUP FILE" for each one that may share a compilation with
# the others of its group, and nothing for those that must stay apart. Two sources with a name in common are never in one
# group: unnamed namespaces of two files become one. Nor is a source whose unnamed namespace has a name that a header of
# another source has: the other would silently call the wrong one. Takes too much for a name rather than too little.
# Variables: size, the most sources in a group; root, the folder that includes start from.

# A name of this file alone clashes with every equal name of another file, a name that others may know only with
# those.
function define(name) {
  if (name == "") return
  if (unnamed) own[FILENAME, ++own_count[FILENAME]] = name
  else shared[FILENAME, ++shared_count[FILENAME]] = name
}

# What a line that starts in the first column defines; empty for nothing that matters here.
function defined_by(line,    words) {
  if (line !~ /^[A-Za-z_\[]/) return ""
  if (line ~ /^(namespace|template|TEST|TYPED_TEST|RC_GTEST|INSTANTIATE|public:|private:|protected:|extern|static_assert)/)
    return ""
  gsub(/\[\[[^\]]*\]\][ ]*/, "", line)
  if (line ~ /^(struct|class|enum|union|using|concept)[ ]/) {
    sub(/^enum (class|struct)/, "enum", line)
    split(line, words, /[^A-Za-z_0-9]+/)
    return words[2]
  }
  return match(line, /[(={;\[]/) ? last_identifier(substr(line, 1, RSTART - 1)) : ""
}

# The names that a header defines are shared by whoever includes it. A header is read once.
function include(header,    line, name, names, words, count, i) {
  if (!(header in header_names)) {
    while ((getline line < header) > 0)
      if ((name = defined_by(line)) != "") names = names " " name
    close(header)
    header_names[header] = names
  }
  count = split(header_names[header], words, " ")
  for (i = 1; i <= count; i++) shared[FILENAME, ++shared_count[FILENAME]] = words[i]
}

# The last identifier of a text; empty when it is qualified (a member defined outside its class) or none.
function last_identifier(text) {
  sub(/[ \t]+$/, "", text)
  if (!match(text, /[A-Za-z_][A-Za-z_0-9]*$/)) return ""
  if (RSTART > 2 && substr(text, RSTART - 2, 2) == "::") return ""
  return substr(text, RSTART)
}

FNR == 1 {
  files[++file_count] = FILENAME
  unnamed = 0
}
/^namespace \{/ { unnamed = 1 }
/^\}  \/\/ namespace$/ { unnamed = 0 }

# What changes the meaning of all that follows.
/^#[ ]*(define|undef|pragma)/ { if ($0 !~ /pragma once/) apart[FILENAME] = 1 }
/^#include ".*\.cc"/ { apart[FILENAME] = 1 }
/^#include ".*\.h"/ { include(root "/" substr($2, 2, length($2) - 2)) }
# A header that opens "wharf::sim::testing" hides "testing" from what follows: only for those who include it.
/^#include ".*_test_support\.h"/ {
  header = root "/" substr($2, 2, length($2) - 2)
  while ((getline line < header) > 0)
    if (line ~ /^namespace [a-z_]+::[a-z_]+::test(ing)? \{/) hiding[FILENAME] = hiding[FILENAME] header
  close(header)
}
/^using [A-Za-z_:0-9]+;/ {
  name = $2
  sub(/;.*/, "", name)
  sub(/.*::/, "", name)
  shared[FILENAME, ++shared_count[FILENAME]] = name
  next
}
# Enumerators, one to a line or all in one.
/^  k[A-Z][A-Za-z0-9_]*( = [^;]*)?,?$/ { define($1 ~ /,$/ ? substr($1, 1, length($1) - 1) : $1) }
/^enum .*\{.*\}/ {
  count = split(substr($0, index($0, "{")), words, /[^A-Za-z_0-9]+/)
  for (w = 1; w <= count; w++)
    if (words[w] ~ /^k[A-Z]/) define(words[w])
}
{ define(defined_by($0)) }

function fits(file, group,    i) {
  if (members[group] >= size || (members[group] > 0 && hiding[file] != hidden[group])) return 0
  for (i = 1; i <= own_count[file]; i++)
    if ((group, own[file, i]) in owned || (group, own[file, i]) in known) return 0
  for (i = 1; i <= shared_count[file]; i++)
    if ((group, shared[file, i]) in owned) return 0
  return 1
}

END {
  for (f = 1; f <= file_count; f++) {
    file = files[f]
    if (file in apart) continue
    for (group = 0; !fits(file, group); group++) {}
    members[group]++
    hidden[group] = hiding[file]
    for (i = 1; i <= own_count[file]; i++) owned[group, own[file, i]] = 1
    for (i = 1; i <= shared_count[file]; i++) known[group, shared[file, i]] = 1
    print group, file
  }
}
