# SPDX-License-Identifier: Apache-2.0
# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(WHARF_TESTS "Build the tests" ON)
option(WHARF_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(WHARF_WERROR "Treat warnings as errors" OFF)
option(WHARF_LINK_TIME_OPTIMIZATION "Optimise the program and the benchmarks once more when they are linked" OFF)
option(WHARF_EACH "Compile every source by itself" OFF)
set(WHARF_SANITIZE_TURN "" CACHE STRING
  "With WHARF_SANITIZE: 0 or 1 leaves one half or the other of the tests of simulators and studies to be built by name")
option(WHARF_SANITIZE_COMMANDS "With WHARF_SANITIZE: build the tests of the command line, too" OFF)
set(WHARF_BENCH ON CACHE STRING
  "Build the benchmarks: ON, OFF, or SMOKE for those that only have to work and are not optimised when they are linked")
set(WHARF_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=: empty, address,undefined or thread")

add_library(wharf_options INTERFACE)
target_compile_options(wharf_options INTERFACE
  -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum -Wnon-virtual-dtor -Woverloaded-virtual
  -ffp-contract=off
  # No file tells in which folder it was built: two clones make the same bytes, and ccache shares them.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(wharf_options INTERFACE -fcoroutines)
  # g++ 12 warns about its own inlined standard library at -O2 (GCC bugs 105329, 105651, 107852).
  target_compile_options(wharf_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(WHARF_WERROR)
  target_compile_options(wharf_options INTERFACE -Werror)
endif()
if(WHARF_SANITIZE)
  target_compile_options(wharf_options INTERFACE
    -fsanitize=${WHARF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(wharf_options INTERFACE -fsanitize=${WHARF_SANITIZE})
  if(WHARF_SANITIZE MATCHES "undefined" AND NOT WHARF_FUZZ)
    # These look at every access through a pointer and make a third of what there is to compile. The folders that read
    # foreign bytes keep them (wharf_folder), and so does all that is fuzzed.
    target_compile_options(wharf_options INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:WHARF_READS_FOREIGN_BYTES>>>:-fno-sanitize=vptr,null,alignment>)
  endif()
endif()
if(WHARF_FUZZ)
  # Coverage for libFuzzer in every library; the targets in fuzz/ link its main().
  target_compile_options(wharf_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(wharf_options INTERFACE ${PROJECT_SOURCE_DIR}/src)

# The folders whose code runs for every event or packet. With link-time optimisation their objects carry machine code
# beside what the link needs: the many test programs link that as it is (wharf_test), and only what links
# wharf_whole_program is optimised as a whole (docs/decisions/0004).
set(WHARF_HOT_FOLDERS base wire trace verbs engine reliability congestion ordering rdmo ${WHARF_PROTOCOLS} sim_kernel
  sim_fabric sim_coherence sim_host_config sim_host_memory sim_host_coherent sim_host_pcie sim_host_nic sim_host_core
  sim_host_replay sim_host sim_flows sim_world sim_two_hosts sim_scenario)
# The folders that read what another program or machine wrote.
set(WHARF_FOREIGN_FOLDERS wire live_shm live_secure live_udp live_ethernet live_perftest live_rdmo)
add_library(wharf_hot_options INTERFACE)
add_library(wharf_whole_program INTERFACE)
if(WHARF_LINK_TIME_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(wharf_hot_options INTERFACE -flto=auto -ffat-lto-objects)
  target_link_options(wharf_whole_program INTERFACE -flto=auto -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  find_program(WHARF_MAKE NAMES make gmake)
  mark_as_advanced(WHARF_MAKE)
  if(NOT WHARF_MAKE)
    # g++ would optimise the same parts one after another, and warn.
    message(STATUS "make is not installed, so the program is linked on one core (./dev setup build installs it)")
    target_link_options(wharf_whole_program INTERFACE -flto-partition=one)
  endif()
endif()
