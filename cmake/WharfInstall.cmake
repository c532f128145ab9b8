# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` and `./dev package` put where. Three components, each a Debian package: "program" (wharf: the
# program, its data, manual pages, completion, documents), "development" (libwharf-dev: public headers, one library,
# files for CMake and pkg-config) and, where it is built, "python" (python3-wharf; src/python says what is in it). The
# first two are made of what the target `wharf` builds; docs/decisions/0072 has the reasons.
include(GNUInstallDirs)

install(TARGETS wharf RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# The data: found again relative to the program, so the whole prefix may be moved.
set(WHARF_DATA_FOLDER ${CMAKE_INSTALL_DATADIR}/wharf)
foreach(folder IN ITEMS profiles scenarios studies traces)
  install(DIRECTORY ${folder}/ DESTINATION ${WHARF_DATA_FOLDER}/${folder} COMPONENT program)
endforeach()
install(DIRECTORY tests/litmus/ DESTINATION ${WHARF_DATA_FOLDER}/litmus COMPONENT program
  FILES_MATCHING PATTERN "*.litmus")
# Wireshark's dissectors are data too. A link leads to them from where Debian's Wireshark looks (`tshark -G folders`).
install(DIRECTORY src/wire/wireshark/ DESTINATION ${WHARF_DATA_FOLDER}/wireshark COMPONENT program
  FILES_MATCHING PATTERN "*.lua")
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(plugins lib/${CMAKE_LIBRARY_ARCHITECTURE}/wireshark/plugins)
  file(RELATIVE_PATH dissectors /p/${plugins} /p/${WHARF_DATA_FOLDER}/wireshark)
  install(CODE "
    set(root \"\${CMAKE_INSTALL_PREFIX}\")
    cmake_path(ABSOLUTE_PATH root)
    set(folder \"\$ENV{DESTDIR}\${root}/${plugins}\")
    file(MAKE_DIRECTORY \${folder})
    file(CREATE_LINK ${dissectors} \${folder}/wharf SYMBOLIC)
    message(STATUS \"Installing: \${folder}/wharf\")
  " COMPONENT program)
endif()
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program RENAME copyright)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(CODE "
  set(root \"\${CMAKE_INSTALL_PREFIX}\")
  cmake_path(ABSOLUTE_PATH root)
  set(source \"${PROJECT_SOURCE_DIR}\")
  set(folder \"\${root}/${CMAKE_INSTALL_DOCDIR}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/InstalledLinks.cmake\")
" COMPONENT program)

# Manual pages and completion are what the program itself prints.
set(WHARF_INSTALLED_PROGRAM $<TARGET_FILE:wharf>)
install(CODE "
  set(program \"${WHARF_INSTALLED_PROGRAM}\")
  set(root \"\${CMAKE_INSTALL_PREFIX}\")
  cmake_path(ABSOLUTE_PATH root)
  set(root \"\$ENV{DESTDIR}\${root}\")
  set(man \"\${root}/${CMAKE_INSTALL_MANDIR}/man1\")
  set(shared \"\${root}/${CMAKE_INSTALL_DATADIR}\")
  file(MAKE_DIRECTORY \${man} \${shared}/bash-completion/completions \${shared}/fish/vendor_completions.d)
  execute_process(COMMAND \${program} help --manual OUTPUT_FILE \${man}/wharf.1 COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${program} help --commands OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE \"\\n+\" \";\" commands \"\${commands}\")
  foreach(command IN LISTS commands)
    if(command)
      execute_process(COMMAND \${program} help \${command} --manual OUTPUT_FILE \${man}/wharf-\${command}.1
        COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endforeach()
  execute_process(COMMAND \${program} completion bash
    OUTPUT_FILE \${shared}/bash-completion/completions/wharf COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${program} completion fish
    OUTPUT_FILE \${shared}/fish/vendor_completions.d/wharf.fish COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS \"Installing: manual pages and completion under \${root}\")
" COMPONENT program)

# wharf_link_closure(TARGET...): WHARF_ARCHIVES gets the static libraries of this project behind targets, they first,
# WHARF_FOREIGN what they link from elsewhere.
function(wharf_link_closure)
  set(queue ${ARGV})
  set(seen)
  set(archives)
  set(foreign)
  while(queue)
    list(POP_FRONT queue item)
    while(item MATCHES "^\\$<(LINK_ONLY|BUILD_INTERFACE):(.*)>$")
      set(item ${CMAKE_MATCH_2})
    endwhile()
    if(item IN_LIST seen OR item MATCHES "::@")
      continue()
    endif()
    list(APPEND seen ${item})
    if(NOT TARGET ${item} OR NOT item MATCHES "^wharf_")
      list(APPEND foreign ${item})
      continue()
    endif()
    get_target_property(type ${item} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND archives ${item})
    endif()
    get_target_property(links ${item} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND queue ${links})
    endif()
  endwhile()
  set(WHARF_ARCHIVES ${archives} PARENT_SCOPE)
  set(WHARF_FOREIGN ${foreign} PARENT_SCOPE)
endfunction()

# The library: the archives of the tree as one, without what link-time optimisation and debuggers read.
wharf_link_closure(wharf_wharf wharf_live_aperture)
set(WHARF_MERGE "create \${library}\\n")
foreach(archive IN LISTS WHARF_ARCHIVES)
  string(APPEND WHARF_MERGE "addlib $<TARGET_FILE:${archive}>\\n")
endforeach()
string(APPEND WHARF_MERGE "save\\nend\\n")
install(CODE "
  set(root \"\${CMAKE_INSTALL_PREFIX}\")
  cmake_path(ABSOLUTE_PATH root)
  set(folder \"\$ENV{DESTDIR}\${root}/${CMAKE_INSTALL_LIBDIR}\")
  set(library \"\${folder}/libwharf.a\")
  set(script \"${CMAKE_BINARY_DIR}/merge.mri\")
  file(MAKE_DIRECTORY \${folder})
  file(REMOVE \${library})
  file(WRITE \${script} \"${WHARF_MERGE}\")
  execute_process(COMMAND ${CMAKE_AR} -M INPUT_FILE \${script} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_STRIP} --strip-debug --wildcard -R .gnu.lto_* -R .gnu.debuglto_* \${library}
    COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS \"Installing: \${library}\")
" COMPONENT development)
install(FILES src/wharf/run.h src/wharf/version.h src/live/aperture/aperture.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wharf COMPONENT development)

# What a program links beside libwharf.a, as pkg-config and CMake say it.
set(WHARF_LIBRARIES_BESIDE)
foreach(item IN LISTS WHARF_FOREIGN)
  if(item MATCHES "^/.*/lib([^/]+)\\.(so|a)$")
    list(APPEND WHARF_LIBRARIES_BESIDE ${CMAKE_MATCH_1})
  elseif(item STREQUAL "fmt::fmt")
    list(APPEND WHARF_LIBRARIES_BESIDE fmt)
  elseif(item STREQUAL "ZLIB::ZLIB")
    list(APPEND WHARF_LIBRARIES_BESIDE z)
  elseif(item STREQUAL "LibLZMA::LibLZMA")
    list(APPEND WHARF_LIBRARIES_BESIDE lzma)
  elseif(item STREQUAL "Threads::Threads")
    list(APPEND WHARF_LIBRARIES_BESIDE pthread)
  elseif(item MATCHES "^-l(.+)$" OR item MATCHES "^([a-z]+)$")
    list(APPEND WHARF_LIBRARIES_BESIDE ${CMAKE_MATCH_1})
  elseif(NOT item MATCHES "^nlohmann_json::|^CLI11::")  # Headers alone.
    message(FATAL_ERROR "cmake/WharfInstall.cmake does not know how other programs link ${item}")
  endif()
endforeach()
list(REMOVE_DUPLICATES WHARF_LIBRARIES_BESIDE)
list(TRANSFORM WHARF_LIBRARIES_BESIDE PREPEND "-l" OUTPUT_VARIABLE flags)
list(JOIN flags " " WHARF_LINK_FLAGS)

include(CMakePackageConfigHelpers)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake/wharf)
configure_package_config_file(cmake/wharfConfig.cmake.in ${CMAKE_BINARY_DIR}/wharfConfig.cmake
  INSTALL_DESTINATION ${packages} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/wharfConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/wharfConfig.cmake ${CMAKE_BINARY_DIR}/wharfConfigVersion.cmake
  DESTINATION ${packages} COMPONENT development)
file(RELATIVE_PATH WHARF_PREFIX_FROM_PC /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/wharf.pc.in ${CMAKE_BINARY_DIR}/wharf.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/wharf.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Debian packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wharf)
set(CPACK_PACKAGE_CONTACT "The wharf authors <wharf@localhost>")
set(CPACK_PACKAGE_VENDOR wharf)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME wharf)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "gnuplot-nox, tshark, valgrind, libwharf-dev")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Remote memory protocols, simulated and live
Unified Bus with URMA, RoCEv2, Ultra Ethernet and RDMO: one implementation,
run in a deterministic simulator of hosts and fabrics or between processes.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libwharf-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "wharf (= ${PROJECT_VERSION}), libfmt-dev, zlib1g-dev, libisal-dev, liblzma-dev, libzstd-dev, libsodium-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Runs wharf's scenarios from other programs, maps remote memory into them
Headers, one static library, and files for CMake and pkg-config.")
if(WHARF_PYTHON_FOUND)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-wharf)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "wharf (= ${PROJECT_VERSION}), python3 (>= ${WHARF_PYTHON_VERSION}), \
python3 (<< ${WHARF_PYTHON_NEXT_VERSION}), python3-numpy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, python3-matplotlib")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Runs wharf's scenarios from Python
Scenarios, sweeps and results as NumPy arrays, captures, and every command
of the program with its document.")
endif()
include(CPack)
