cmake_minimum_required(VERSION 3.20)

# Builds the library with cargo and puts it under its own name: cmake -D... -P cargo.cmake
#
# SOURCE_DIR, TARGET_DIR, OUT, PROFILE, FEATURES, ABI, ABI_FULL, CARGO, NATIVE_LIBS, TARGET, SHARED: what the caller linked
# against. Without TARGET, for the host.

file(MAKE_DIRECTORY "${OUT}")
set(common rustc --manifest-path "${SOURCE_DIR}/Cargo.toml" -p pointsman-capi --lib --profile "${PROFILE}"
    --target-dir "${TARGET_DIR}" --locked)
if(FEATURES)
  list(APPEND common --features "${FEATURES}")
endif()

if(TARGET)
  list(APPEND common --target "${TARGET}")
  string(APPEND TARGET_DIR "/${TARGET}")
endif()

function(build kind file name)
  execute_process(COMMAND "${CARGO}" ${common} --crate-type ${kind} -- --print native-static-libs
    ERROR_VARIABLE log RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cargo failed\n${log}")
  endif()
  set(log "${log}" PARENT_SCOPE)
  if(PROFILE STREQUAL "dev")
    set(folder debug)
  else()
    set(folder "${PROFILE}")
  endif()
  # Copied only if different, so that what links it is linked again only then.
  execute_process(COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${TARGET_DIR}/${folder}/${file}" "${OUT}/${name}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(SHARED)
  build(cdylib libpointsman_capi.so "libpointsman.so.${ABI_FULL}")
  file(CREATE_LINK "libpointsman.so.${ABI_FULL}" "${OUT}/libpointsman.so.${ABI}" SYMBOLIC)
  file(CREATE_LINK "libpointsman.so.${ABI}" "${OUT}/libpointsman.so" SYMBOLIC)
endif()
build(staticlib libpointsman_capi.a libpointsman.a)

# The list that the package files carry must be the compiler's for this very library.
string(REGEX MATCH "native-static-libs: ([^\n]*)" found "${log}")
if(found)
  string(STRIP "${CMAKE_MATCH_1}" libs)
  separate_arguments(libs)
  foreach(lib IN LISTS libs)
    if(NOT lib IN_LIST NATIVE_LIBS)
      message(FATAL_ERROR "the library needs ${lib}, which is not among: ${NATIVE_LIBS}")
    endif()
  endforeach()
endif()
