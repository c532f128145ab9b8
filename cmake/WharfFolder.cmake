# SPDX-License-Identifier: Apache-2.0
# How a folder becomes a library and a test program.

# wharf_folder(NAME DEPENDS lib... [TEST_DEPENDS lib...] [TEST_LABEL label...] [COLD regex...]): the library of one
# folder under src/ from its *.cc (bench/ takes *_bench.cc), and one test program wharf_NAME_test from its *_test.cc.
# Folders without *.cc become header-only. TEST_LABEL names further CTest labels beside "unit"; "thread" puts the test
# into the tsan run. Sources whose names without .cc match one of COLD run a few times in a run of the program: they are
# optimised less, not once more when they are linked, and share a precompiled header (docs/decisions/0052).
function(wharf_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS;TEST_LABEL;COLD" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  if(sources)
    if(ARG_COLD)
      set(cold ${sources})
      list(JOIN ARG_COLD "|" pattern)
      list(FILTER cold INCLUDE REGEX "/(${pattern})\\.cc$")
      list(REMOVE_ITEM sources ${cold})
      wharf_cold(wharf_${name}_cold SOURCES ${cold} DEPENDS ${ARG_DEPENDS})
      set(cold $<TARGET_OBJECTS:wharf_${name}_cold>)
    endif()
    add_library(wharf_${name} STATIC ${sources} ${cold})
    set_target_properties(wharf_${name} PROPERTIES LINKER_LANGUAGE CXX)  # For those that are cold altogether.
    wharf_unity(wharf_${name} ${sources})
    target_link_libraries(wharf_${name} PUBLIC wharf_options ${ARG_DEPENDS})
    if(name IN_LIST WHARF_HOT_FOLDERS)
      target_link_libraries(wharf_${name} PRIVATE $<BUILD_INTERFACE:wharf_hot_options>)
    endif()
    if(name IN_LIST WHARF_FOREIGN_FOLDERS)
      set_target_properties(wharf_${name} PROPERTIES WHARF_READS_FOREIGN_BYTES ON)
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

# wharf_cold(TARGET SOURCES file... DEPENDS lib...): the cold objects of a folder, and once for all of them the
# precompiled header: foreign and standard headers only, for one of our own would compile all of them anew.
function(wharf_cold target)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT TARGET wharf_cold_options)
    find_package(nlohmann_json REQUIRED)
    add_library(wharf_cold_options INTERFACE)
    target_link_libraries(wharf_cold_options INTERFACE wharf_options nlohmann_json::nlohmann_json fmt::fmt)
    if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WHARF_SANITIZE)
      target_compile_options(wharf_cold_options INTERFACE -O1)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
      # Lets ccache see what the precompiled header stands for.
      target_compile_options(wharf_cold_options INTERFACE -fpch-preprocess)
    endif()
    file(WRITE ${CMAKE_BINARY_DIR}/wharf_cold_pch.cc "// Generated: carries the precompiled header of cold sources.\n")
    add_library(wharf_cold_pch OBJECT ${CMAKE_BINARY_DIR}/wharf_cold_pch.cc)
    target_link_libraries(wharf_cold_pch PRIVATE wharf_cold_options)
    target_precompile_headers(wharf_cold_pch PRIVATE
      <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp> <algorithm> <array> <cmath> <cstdint> <filesystem> <functional>
      <map> <memory> <optional> <span> <string> <string_view> <variant> <vector>)
  endif()
  add_library(${target} OBJECT ${ARG_SOURCES})
  wharf_unity(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE wharf_cold_options ${ARG_DEPENDS})
  target_precompile_headers(${target} REUSE_FROM wharf_cold_pch)
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
  wharf_unity(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})  # For tests/support.
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} wharf_test_options)
  target_precompile_headers(${name} REUSE_FROM wharf_test_pch)
  wharf_has_turn(${name} has_turn)
  if(NOT has_turn)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)  # Planted faults may ask for it.
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(WHARF_SANITIZE)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")  # Sanitized programs take several times as long.
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

# wharf_has_turn(NAME RESULT): whether the test program is among those that this tree runs. What reads foreign bytes,
# and the engines, are sanitized for every commit; simulators, studies and reports for every second.
function(wharf_has_turn name result)
  set(${result} ON PARENT_SCOPE)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT WHARF_SANITIZE OR WHARF_SANITIZE_TURN STREQUAL "" OR NOT folder MATCHES "^(src/(sim|study|report)|tests/)" OR
     folder MATCHES "^tests/(chaos|conformance|live|wireshark)")
    return()
  endif()
  string(MD5 digest ${name})
  string(SUBSTRING ${digest} 0 1 digit)
  math(EXPR half "0x${digit} % 2")
  if(NOT half EQUAL WHARF_SANITIZE_TURN)
    set(${result} OFF PARENT_SCOPE)
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
