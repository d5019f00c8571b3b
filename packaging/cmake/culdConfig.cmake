# find_package(culd): the program culd, the library libculd, and culd_use(), which makes it the device linker of a project.
#
#   cmake_minimum_required(VERSION 3.24)
#   find_package(culd REQUIRED)          # before project(): CMake asks the compiler about itself there
#   culd_use()
#   project(app LANGUAGES CXX CUDA)
#
# culd_use([MODE nvlink|culd] [TOOLKIT <directory>])
#   nvcc runs the nvlink of its own directory. So this makes a view of the CUDA toolkit below the build directory, whose nvlink is culd
#   (culd install-as-nvlink), and lets CMAKE_CUDA_COMPILER be the nvcc of the view. The toolkit is TOOLKIT, that of CMAKE_CUDA_COMPILER,
#   CUDA_HOME or CUDA_PATH, or that of the nvcc in PATH. With MODE culd, messages and checks are culd's own.
#   With clang as CUDA compiler, call it after project(): CMake itself calls the linker then, and CMAKE_CUDA_DEVICE_LINKER is set.
#
# find_package(culd COMPONENTS library): libculd for C and C++, after project().
#
#   find_package(culd REQUIRED COMPONENTS library)
#   target_link_libraries(app PRIVATE culd::culd)
#
# Components: program, library; without any, one of them is enough.
# Defined: culd_FOUND, culd_program_FOUND, culd_library_FOUND, culd_EXECUTABLE, target culd::program, and where there is the library, culd::culd.

# In an archive these files are in share/cmake/culd or lib/cmake/culd; in a Python environment in site-packages/culd/cmake, three or four directories
# below that of the program.
find_program(culd_EXECUTABLE culd HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../../../../../bin"
  "${CMAKE_CURRENT_LIST_DIR}/../../../../Scripts" "$ENV{CULD_ROOT}/bin")
mark_as_advanced(culd_EXECUTABLE)
get_filename_component(_culd_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_culd_library)
foreach(_culd_file "${_culd_prefix}/lib/libculd.so.0" "${_culd_prefix}/libculd.so.0")
  if(NOT _culd_library AND EXISTS "${_culd_file}" AND EXISTS "${_culd_prefix}/include/culd.h")
    set(_culd_library "${_culd_file}")
  endif()
endforeach()

set(culd_program_FOUND FALSE)
if(culd_EXECUTABLE)
  set(culd_program_FOUND TRUE)
endif()
set(culd_library_FOUND FALSE)
if(_culd_library)
  set(culd_library_FOUND TRUE)
endif()
set(culd_FOUND TRUE)
if(NOT culd_program_FOUND AND NOT culd_library_FOUND)
  set(culd_FOUND FALSE)
  set(culd_NOT_FOUND_MESSAGE "the program culd is neither beside its CMake files nor in PATH")
endif()
foreach(_culd_component ${culd_FIND_COMPONENTS})
  if(culd_FIND_REQUIRED_${_culd_component} AND NOT culd_${_culd_component}_FOUND)
    set(culd_FOUND FALSE)
    set(culd_NOT_FOUND_MESSAGE "there is no ${_culd_component} of culd beside its CMake files")
  endif()
endforeach()
if(NOT culd_FOUND)
  return()
endif()

if(culd_program_FOUND AND NOT TARGET culd::program AND CMAKE_PROJECT_NAME)
  add_executable(culd::program IMPORTED GLOBAL)
  set_target_properties(culd::program PROPERTIES IMPORTED_LOCATION "${culd_EXECUTABLE}")
endif()
if(culd_library_FOUND AND NOT TARGET culd::culd AND CMAKE_PROJECT_NAME)
  add_library(culd::culd SHARED IMPORTED GLOBAL)
  set_target_properties(culd::culd PROPERTIES
    IMPORTED_LOCATION "${_culd_library}" IMPORTED_SONAME libculd.so.0 INTERFACE_INCLUDE_DIRECTORIES "${_culd_prefix}/include")
endif()

macro(culd_use)
  if(NOT culd_EXECUTABLE)
    message(FATAL_ERROR "culd_use(): the program culd is neither beside its CMake files nor in PATH")
  endif()
  cmake_parse_arguments(_culd "" "MODE;TOOLKIT" "" ${ARGN})
  if(NOT _culd_MODE)
    set(_culd_MODE nvlink)
  endif()
  set(_culd_view "${CMAKE_BINARY_DIR}/culd-cuda")
  set(_culd_nvcc "${_culd_view}/bin/nvcc${CMAKE_HOST_EXECUTABLE_SUFFIX}")
  if(CMAKE_HOST_WIN32)
    set(_culd_nvcc "${_culd_view}/bin/nvcc.exe")
  endif()
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "Clang")
    file(MAKE_DIRECTORY "${_culd_view}")
    if(_culd_MODE STREQUAL "culd")
      set(CMAKE_CUDA_DEVICE_LINKER "${culd_EXECUTABLE}")
    else()
      get_filename_component(_culd_extension "${culd_EXECUTABLE}" LAST_EXT)
      file(CREATE_LINK "${culd_EXECUTABLE}" "${_culd_view}/nvlink${_culd_extension}" COPY_ON_ERROR SYMBOLIC)
      set(CMAKE_CUDA_DEVICE_LINKER "${_culd_view}/nvlink${_culd_extension}")
    endif()
  elseif(CMAKE_CUDA_COMPILER_LOADED AND NOT CMAKE_CUDA_COMPILER STREQUAL _culd_nvcc)
    message(FATAL_ERROR "culd_use() comes too late: call it before project() or enable_language(CUDA)")
  elseif(NOT EXISTS "${_culd_nvcc}" OR NOT CMAKE_CUDA_COMPILER STREQUAL _culd_nvcc)
    set(_culd_arguments)
    if(_culd_TOOLKIT)
      set(_culd_arguments --toolkit "${_culd_TOOLKIT}")
    elseif(CMAKE_CUDA_COMPILER)
      get_filename_component(_culd_toolkit "${CMAKE_CUDA_COMPILER}" REALPATH)
      get_filename_component(_culd_toolkit "${_culd_toolkit}" DIRECTORY)
      get_filename_component(_culd_toolkit "${_culd_toolkit}" DIRECTORY)
      set(_culd_arguments --toolkit "${_culd_toolkit}")
    endif()
    execute_process(
      COMMAND "${culd_EXECUTABLE}" install-as-nvlink "${_culd_view}" --mode "${_culd_MODE}" ${_culd_arguments}
      RESULT_VARIABLE _culd_result OUTPUT_VARIABLE _culd_output ERROR_VARIABLE _culd_output
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
    if(NOT _culd_result EQUAL 0)
      message(FATAL_ERROR "${_culd_output}")
    endif()
    message(STATUS "culd: ${_culd_output}")
    set(CMAKE_CUDA_COMPILER "${_culd_nvcc}" CACHE FILEPATH "The nvcc whose device linker is culd" FORCE)
  endif()
endmacro()
