# SPDX-License-Identifier: Apache-2.0
# How a module of rtl/ becomes C++ and meets its reference.

find_program(WHARF_VERILATOR verilator)
find_program(WHARF_YOSYS yosys)
find_program(WHARF_Z3 z3)
mark_as_advanced(WHARF_VERILATOR WHARF_YOSYS WHARF_Z3)
option(WHARF_RTL "Build the co-simulation of rtl/, where Verilator is installed" ON)
if(WHARF_RTL AND NOT WHARF_VERILATOR)
  message(STATUS "rtl/: Verilator is not installed, so its tests are left out (./dev setup rtl installs it)")
endif()

# wharf_needs_hardware(TEST): the test is built with the hardware NIC, where there is one.
function(wharf_needs_hardware test)
  if(TARGET ${test} AND TARGET wharf_rtl_modules)
    add_dependencies(${test} wharf_rtl_modules)
  endif()
endfunction()

# Verilator's own runtime, compiled once.
function(wharf_make_verilated)
  cmake_path(GET WHARF_VERILATOR PARENT_PATH folder)
  set(root ${folder}/../share/verilator/include)
  add_library(wharf_verilated STATIC ${root}/verilated.cpp ${root}/verilated_threads.cpp)
  target_include_directories(wharf_verilated SYSTEM PUBLIC ${root} ${root}/vltstd)
  target_compile_features(wharf_verilated PUBLIC cxx_std_20)
  target_compile_options(wharf_verilated PRIVATE -w -O2 -fcoroutines)
  find_package(Threads REQUIRED)
  target_link_libraries(wharf_verilated PUBLIC Threads::Threads)
  set_target_properties(wharf_verilated PROPERTIES POSITION_INDEPENDENT_CODE ON)  # Modules hold it, too.
endfunction()

# wharf_verilate(PREFIX TOP module SOURCES file... [PARAMETERS Name=value...] [PLANTED faults]): the library
# wharf_PREFIX with the class PREFIX in PREFIX.h. With PLANTED, the last source, which holds the top, has the faults of
# that list built in.
function(wharf_verilate prefix)
  cmake_parse_arguments(ARG "" "TOP;PLANTED" "SOURCES;PARAMETERS" ${ARGN})
  if(NOT TARGET wharf_verilated)
    wharf_make_verilated()
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${prefix})
  set(sources)
  foreach(source IN LISTS ARG_SOURCES)
    cmake_path(ABSOLUTE_PATH source)
    list(APPEND sources ${source})
  endforeach()
  set(lint -Wall)
  if(ARG_PLANTED)
    list(POP_BACK sources top)
    cmake_path(ABSOLUTE_PATH ARG_PLANTED)
    cmake_path(GET top FILENAME name)
    add_custom_command(OUTPUT ${out}/${name}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/rtl_plant ${top} ${ARG_PLANTED} > ${out}/${name}
      DEPENDS ${top} ${ARG_PLANTED} ${PROJECT_SOURCE_DIR}/tools/rtl_plant VERBATIM)
    list(APPEND sources ${out}/${name})
    set(lint -Wno-lint -Wno-fatal)  # A fault is allowed to look odd.
  endif()
  set(parameters ${ARG_PARAMETERS})
  list(TRANSFORM parameters PREPEND -G)
  add_custom_command(OUTPUT ${out}/model/${prefix}_all.cc ${out}/model/${prefix}.h
    COMMAND ${PROJECT_SOURCE_DIR}/tools/rtl_verilate ${out}/model ${prefix} ${lint} --top-module ${ARG_TOP}
      ${parameters} ${sources}
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/tools/rtl_verilate VERBATIM
    COMMENT "Verilating ${prefix}")
  add_library(wharf_${prefix} STATIC ${out}/model/${prefix}_all.cc)
  target_include_directories(wharf_${prefix} SYSTEM PUBLIC ${out}/model)
  target_compile_options(wharf_${prefix} PRIVATE -w -O1)
  target_link_libraries(wharf_${prefix} PUBLIC wharf_verilated)
endfunction()

# wharf_rtl_element(NAME [USES element...] [PARAMETERS Name=value...] [VARIANTS suffix,Name=value,......]
#                   [DEPENDS lib...] [PLANTED what...]):
# the element in rtl/NAME, whose module wharf_NAME in wharf_NAME.sv uses its own
# parts, wharf_*.sv beside it, and other elements. Its co-simulation NAME_cosim_test.cc gets the class Vwharf_NAME, with
# the faults of faults.txt the class Vwharf_NAME_planted, and a class Vwharf_NAME_SUFFIX for each variant. Each list
# rtl/NAME/WHAT_faults.txt of PLANTED makes a class Vwharf_NAME_WHAT, for another test. Where yosys and z3 are there,
# its properties.sv is proved, too.
function(wharf_rtl_element name)
  cmake_parse_arguments(ARG "" "" "USES;PARAMETERS;DEPENDS;VARIANTS;PLANTED" ${ARGN})
  set(sources ${PROJECT_SOURCE_DIR}/rtl/wharf_pkg.sv)
  foreach(element IN LISTS ARG_USES)
    file(GLOB used CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rtl/${element}/wharf_*.sv)
    list(APPEND sources ${used})
  endforeach()
  file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rtl/${name}/wharf_*.sv)
  list(REMOVE_ITEM parts ${PROJECT_SOURCE_DIR}/rtl/${name}/wharf_${name}.sv)
  list(APPEND sources ${parts} ${PROJECT_SOURCE_DIR}/rtl/${name}/wharf_${name}.sv)
  set(models Vwharf_${name} Vwharf_${name}_planted)
  wharf_verilate(Vwharf_${name} TOP wharf_${name} SOURCES ${sources} PARAMETERS ${ARG_PARAMETERS})
  wharf_verilate(Vwharf_${name}_planted TOP wharf_${name} SOURCES ${sources} PARAMETERS ${ARG_PARAMETERS}
    PLANTED ${PROJECT_SOURCE_DIR}/rtl/${name}/faults.txt)
  foreach(what IN LISTS ARG_PLANTED)
    wharf_verilate(Vwharf_${name}_${what} TOP wharf_${name} SOURCES ${sources} PARAMETERS ${ARG_PARAMETERS}
      PLANTED ${PROJECT_SOURCE_DIR}/rtl/${name}/${what}_faults.txt)
  endforeach()
  # A variant is "suffix,Name=value,...".
  foreach(variant IN LISTS ARG_VARIANTS)
    string(REPLACE "," ";" parameters "${variant}")
    list(POP_FRONT parameters suffix)
    wharf_verilate(Vwharf_${name}_${suffix} TOP wharf_${name} SOURCES ${sources} PARAMETERS ${parameters})
    list(APPEND models Vwharf_${name}_${suffix})
  endforeach()
  list(TRANSFORM models PREPEND wharf_)
  wharf_test(wharf_rtl_${name}_test SOURCES ${PROJECT_SOURCE_DIR}/rtl/${name}/${name}_cosim_test.cc
    DEPENDS ${models} wharf_base ${ARG_DEPENDS} LABEL rtl)
  add_dependencies(wharf_rtl_tests wharf_rtl_${name}_test)
  if(WHARF_YOSYS AND WHARF_Z3 AND EXISTS ${PROJECT_SOURCE_DIR}/rtl/${name}/properties.sv)
    add_test(NAME wharf_rtl_${name}_proof COMMAND tools/rtl_prove ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(wharf_rtl_${name}_proof PROPERTIES LABELS "rtl" TIMEOUT 300)
  endif()
endfunction()

# wharf_rtl_module(NAME USES element...): the element in rtl/NAME as the module lib/wharf-rtl/libwharf_NAME_rtl.so, by
# rtl/host/wharf_NAME_host.sv and nic_module.cc beside it.
function(wharf_rtl_module name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  set(sources ${PROJECT_SOURCE_DIR}/rtl/wharf_pkg.sv)
  foreach(element IN LISTS ARG_USES ITEMS ${name})
    file(GLOB used CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rtl/${element}/wharf_*.sv)
    list(APPEND sources ${used})
  endforeach()
  set(model Vwharf_${name}_host)
  wharf_verilate(${model} TOP wharf_${name}_host SOURCES ${sources}
    ${PROJECT_SOURCE_DIR}/rtl/host/wharf_${name}_host.sv)
  target_compile_options(wharf_${model} PRIVATE -O2)
  add_library(wharf_${name}_rtl MODULE EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/rtl/host/nic_module.cc)
  target_compile_features(wharf_${name}_rtl PRIVATE cxx_std_20)
  target_include_directories(wharf_${name}_rtl PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(wharf_${name}_rtl PRIVATE wharf_${model})
  set_target_properties(wharf_${model} wharf_verilated PROPERTIES EXCLUDE_FROM_ALL ON)
  set_target_properties(wharf_${model} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_target_properties(wharf_${name}_rtl PROPERTIES CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/wharf-rtl)
  # Found from PREFIX/bin. In no package: where it has been built, `cmake --install` takes it along.
  install(FILES $<TARGET_FILE:wharf_${name}_rtl> DESTINATION lib/wharf-rtl COMPONENT hardware OPTIONAL)
  if(NOT TARGET wharf_rtl_modules)
    add_custom_target(wharf_rtl_modules)
  endif()
  add_dependencies(wharf_rtl_modules wharf_${name}_rtl)
endfunction()
