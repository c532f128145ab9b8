# SPDX-License-Identifier: Apache-2.0
# Run by `cmake --install`: what the installed pages link beside other pages (examples, headers, scenarios) lies
# beside them as it does in the source tree, so that every link leads somewhere. `source`: that tree; `folder`: of
# the pages, without DESTDIR, which file(INSTALL) puts in front.
file(GLOB_RECURSE pages RELATIVE ${source} ${source}/docs/*.md)
set(installed "")
foreach(page IN LISTS pages ITEMS README.md CHANGELOG.md)
  file(READ ${source}/${page} text)
  # Brackets and semicolons mean something in a list.
  string(REPLACE "](" "<link(" text "${text}")
  string(REGEX REPLACE "[][;]" " " text "${text}")
  string(REGEX MATCHALL "<link\\([^)#: ]+[)#]" links "${text}")
  cmake_path(GET page PARENT_PATH beside)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^<link\\(|[)#]$" "" link "${link}")
    cmake_path(SET target NORMALIZE "${beside}/${link}")
    string(REGEX REPLACE "^/|/$" "" target "${target}")
    list(FIND installed "${target}" before)
    if(target MATCHES "^(docs(/|$)|README.md$|CHANGELOG.md$|[.][.])" OR NOT before EQUAL -1 OR
       NOT EXISTS "${source}/${target}")
      continue()
    endif()
    list(APPEND installed "${target}")
    cmake_path(GET target PARENT_PATH above)
    if(IS_DIRECTORY ${source}/${target})
      file(INSTALL ${source}/${target} DESTINATION ${folder}/${above} TYPE DIRECTORY)
    else()
      file(INSTALL ${source}/${target} DESTINATION ${folder}/${above} TYPE FILE)
    endif()
  endforeach()
endforeach()
