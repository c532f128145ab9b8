# SPDX-License-Identifier: Apache-2.0
# How a folder becomes a library and a test program.

# wharf_folder(NAME DEPENDS lib... [TEST_DEPENDS lib...] [TEST_LABEL label...]): the library of one folder
# under src/ from its *.cc, and one test program wharf_NAME_test from its *_test.cc. Folders without *.cc become
# header-only. TEST_LABEL names further CTest labels beside "unit"; "thread" puts the test into the tsan run.
function(wharf_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS;TEST_LABEL" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(wharf_${name} STATIC ${sources})
    if(WHARF_UNITY STREQUAL "all")
      wharf_unity(wharf_${name} ${sources})
    endif()
    target_link_libraries(wharf_${name} PUBLIC wharf_options ${ARG_DEPENDS})
    if(name IN_LIST WHARF_HOT_FOLDERS)
      target_link_libraries(wharf_${name} PRIVATE $<BUILD_INTERFACE:wharf_hot_options>)
    endif()
  else()
    add_library(wharf_${name} INTERFACE)
    target_link_libraries(wharf_${name} INTERFACE wharf_options ${ARG_DEPENDS})
  endif()
  if(WHARF_TESTS AND tests)
    wharf_test(wharf_${name}_test SOURCES ${tests} DEPENDS wharf_${name} ${ARG_TEST_DEPENDS}
      LABEL unit ${ARG_TEST_LABEL})
  endif()
endfunction()

# wharf_unity(TARGET file...): up to eight sources of a target are compiled as one. Which ones share a compilation is
# found by reading them, anew whenever one of them changes; a source that does not compile with others all the same gets
# the property SKIP_UNITY_BUILD_INCLUSION (docs/decisions/0008).
function(wharf_unity target)
  set(script ${PROJECT_SOURCE_DIR}/cmake/unity_groups.awk)
  set(sources)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    list(APPEND sources ${source})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${sources})
  execute_process(COMMAND awk -v size=8 -v root=${PROJECT_SOURCE_DIR}/src -f ${script} ${sources}
    OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line IN LISTS groups)
    if(line MATCHES "^([0-9]+) (.+)$")
      set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A class with a member of an unnamed namespace is a mistake in a header, which is what g++ takes the sources for.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# wharf_precompile(FOLDER header...): headers that nearly every source of a folder includes and that take longer to read
# than the source itself.
function(wharf_precompile name)
  target_precompile_headers(wharf_${name} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    # Lets ccache see what the precompiled header stands for.
    target_compile_options(wharf_${name} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# wharf_test(NAME SOURCES file... DEPENDS lib... LABEL label... [TIMEOUT seconds]): one GoogleTest program, one CTest
# entry, run from the root of the tree. RapidCheck is linked everywhere; its seed is fixed so that a run repeats
# (RC_PARAMS overrides it). All test programs share one precompiled header. Labels that mean something: "long" is left
# out of `./dev test` and run by `./dev ci`; "thread" is what `./dev ci` runs under ThreadSanitizer; "serial" runs
# with nothing beside it (it measures time).
function(wharf_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABEL" ${ARGN})
  if(NOT WHARF_TESTS)
    return()
  endif()
  if(WHARF_SANITIZE AND ("long" IN_LIST ARG_LABEL OR "serial" IN_LIST ARG_LABEL))
    return()  # `./dev ci` runs them without sanitizers only.
  endif()
  find_package(GTest REQUIRED)
  if(NOT TARGET wharf_test_pch)
    wharf_make_test_pch()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(WHARF_UNITY)
    wharf_unity(${name} ${ARG_SOURCES})
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})  # For tests/support.
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} wharf_test_options)
  target_precompile_headers(${name} REUSE_FROM wharf_test_pch)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "RC_PARAMS=seed=1")
  if("serial" IN_LIST ARG_LABEL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if("thread" IN_LIST ARG_LABEL)
    add_dependencies(wharf_thread_tests ${name})
  endif()
endfunction()

# The precompiled header of the test programs, and the options that they all share with it: a precompiled header is
# only valid for one set of options.
function(wharf_make_test_pch)
  add_library(wharf_test_options INTERFACE)
  target_link_libraries(wharf_test_options INTERFACE
    wharf_options fmt::fmt GTest::gmock GTest::gtest_main rapidcheck)
  target_compile_options(wharf_test_options INTERFACE -Wno-sign-conversion -Wno-conversion -Wno-shadow)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WHARF_SANITIZE)
    # A test runs once for each time that it is compiled: full optimisation of what it expects is not worth its time.
    target_compile_options(wharf_test_options INTERFACE -O1)
  endif()
  if(WHARF_SANITIZE MATCHES "undefined")
    # These look at every access of what is expected, which is most of a test; libraries keep them, and so do fuzzers.
    target_compile_options(wharf_test_options INTERFACE -fno-sanitize=vptr,null,alignment)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Without it the linker would optimise every test program as a whole.
    target_link_options(wharf_test_options INTERFACE -fno-lto)
  endif()
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(wharf_test_options INTERFACE
      "SHELL:-include gmock/gmock.h" "SHELL:-include gtest/gtest.h" "SHELL:-include rapidcheck/gtest.h")
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Lets ccache see what the precompiled header stands for.
    target_compile_options(wharf_test_options INTERFACE -fpch-preprocess)
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/wharf_test_pch.cc "// Generated: carries the precompiled header of the tests.\n")
  add_executable(wharf_test_pch ${CMAKE_BINARY_DIR}/wharf_test_pch.cc)
  set_target_properties(wharf_test_pch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/pch)
  target_link_libraries(wharf_test_pch PRIVATE wharf_test_options)
  target_precompile_headers(wharf_test_pch PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h> <fmt/format.h>
    <algorithm> <array> <cstdint> <map> <optional> <span> <string> <variant> <vector>)
endfunction()
