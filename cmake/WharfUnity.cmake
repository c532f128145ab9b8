# SPDX-License-Identifier: Apache-2.0
# Which sources are compiled as one (docs/decisions/0052): up to twelve of a folder, but for those that somebody edits.

# wharf_find_edited(): lists in WHARF_EDITED the sources that differ from the last commit, and those that did in this
# tree before, so that a commit compiles nothing anew. WHARF_COMMITTED is the folder with what the last commit has for
# them. Outside of a clone of its own nothing counts as edited.
function(wharf_find_edited)
  set(list ${CMAKE_BINARY_DIR}/edited_sources)
  set(committed ${CMAKE_BINARY_DIR}/committed_sources)
  set(edited)
  if(EXISTS ${list})
    file(STRINGS ${list} edited)
  endif()
  file(REMOVE_RECURSE ${committed})
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
    foreach(question IN ITEMS "diff;--name-only;--diff-filter=d;HEAD" "ls-files;--others;--exclude-standard")
      execute_process(COMMAND git ${question} -- *.cc WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_VARIABLE found ERROR_QUIET)
      string(REPLACE "\n" ";" found "${found}")
      list(APPEND edited ${found})
    endforeach()
    list(REMOVE_DUPLICATES edited)
    list(REMOVE_ITEM edited "")
    list(SORT edited)
    foreach(source IN LISTS edited)
      cmake_path(GET source PARENT_PATH folder)
      file(MAKE_DIRECTORY ${committed}/${folder})
      execute_process(COMMAND git show HEAD:${source} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        RESULT_VARIABLE refused OUTPUT_FILE ${committed}/${source} ERROR_QUIET)
      if(refused)
        file(REMOVE ${committed}/${source})  # A new source.
      endif()
    endforeach()
  endif()
  list(JOIN edited "\n" text)
  file(CONFIGURE OUTPUT ${list} CONTENT "${text}\n" @ONLY)
  set(WHARF_EDITED ${edited} PARENT_SCOPE)
  set(WHARF_COMMITTED ${committed} PARENT_SCOPE)
endfunction()

# wharf_unity(TARGET file...): compiles up to twelve sources of a target as one. Which ones go together is found by
# reading them, anew whenever one of them changes. An edited source keeps its place in its group, so that nothing else
# moves, but is compiled by itself from then on; editing it again asks nothing of CMake. A source that does not compile
# with others all the same gets the property SKIP_UNITY_BUILD_INCLUSION, one that is compiled in its own way has
# COMPILE_OPTIONS; both before this is called.
function(wharf_unity target)
  if(WHARF_EACH)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/unity_groups.awk)
  set(read)  # What the script reads: sources, or for edited ones what the last commit has.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    if(NOT name IN_LIST WHARF_EDITED)
      list(APPEND read ${source})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    elseif(EXISTS ${WHARF_COMMITTED}/${name})
      list(APPEND read ${WHARF_COMMITTED}/${name})
    endif()
  endforeach()
  set(groups)
  if(read)
    execute_process(COMMAND awk -v size=12 -v root=${PROJECT_SOURCE_DIR}/src -f ${script} ${read}
      OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  endif()
  string(REPLACE "\n" ";" groups "${groups}")
  set(numbers)
  foreach(line IN LISTS groups)
    if(line MATCHES "^([0-9]+) (.+)$")
      set(number ${CMAKE_MATCH_1})
      set(source ${CMAKE_MATCH_2})
      cmake_path(IS_PREFIX WHARF_COMMITTED ${source} edited)
      get_source_file_property(apart ${source} SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(options ${source} COMPILE_OPTIONS)
      if(NOT edited AND NOT apart AND NOT options)
        list(APPEND numbers ${number})
        list(APPEND group_${number} ${source})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES numbers)
  foreach(number IN LISTS numbers)
    wharf_compile_together(${target} ${number} ${group_${number}})
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A class with a member of an unnamed namespace is a mistake in a header, which is what g++ takes the sources for. A
    # local name may be a global one of another source.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-shadow -Wshadow=local)
  endif()
endfunction()

# wharf_compile_together(TARGET NUMBER file...): one source that includes them. It names them from its own folder, so
# that trees in different places compile the same text and share a compiler cache.
function(wharf_compile_together target number)
  list(LENGTH ARGN count)
  if(count LESS 2)
    return()
  endif()
  set(together ${CMAKE_CURRENT_BINARY_DIR}/together/${target}_${number}.cc)
  set(text "// Generated: sources that are compiled as one.\n")
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH name ${CMAKE_CURRENT_BINARY_DIR}/together ${source})
    string(APPEND text "#include \"${name}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE ${together})
endfunction()
