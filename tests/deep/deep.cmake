# The deep tests, one label each: `make test-deep` runs all, `make test-deep LABEL=asan` one of them.
# Target deep_LABEL builds what the label needs.
#
#   asan      unit, command, server and Python tests under AddressSanitizer and UBSan
#   tsan      threads that share a model, a task or a server, under ThreadSanitizer
#   clang     every C file compiles under clang without warnings, and with musl
#   fuzz      the fuzzers, for seconds each (they need clang and libFuzzer)
#   browser   reports and the live page in Chromium
#   mpi       sis-mpi writes what sis writes, also when processes are killed
#   ort       models in ONNX Runtime, and other ONNX readers
#   python    wheel, source archive, other Pythons, notebook, and other libraries side by side: scikit-learn, XGBoost
#   image     the container folder
#   arm64     cross-built for arm64 and run under qemu: unit and command tests, and the results of x86
#   llm       language models behind an address: llama.cpp's runtime, faults, the cache
#   kills     commands killed at random moments leave their outputs whole
set(DEEP ${CMAKE_CURRENT_SOURCE_DIR})

# deep_test(LABEL NAME command...)
function(deep_test label name)
  if(ARGN)
    add_test(NAME ${name} COMMAND ${ARGN})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()
foreach(label asan tsan clang fuzz browser mpi ort python image kills arm64 llm)
  add_custom_target(deep_${label} DEPENDS sis_program)
endforeach()

# ---- asan ----------------------------------------------------------------------------------------

set(SAN_ENV ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
    LSAN_OPTIONS=suppressions=${DEEP}/lsan.supp:print_suppressions=0)
unit_programs(_asan ${SANITIZE})
foreach(folder ${UNIT_FOLDERS})
  target_link_options(unit_${folder}_asan PRIVATE ${IN_PLACE})
endforeach()
set_target_properties(try_asan PROPERTIES OUTPUT_NAME try-asan)
unit_tests(_asan)
add_dependencies(deep_asan unit_tests_asan try_asan sis_program_asan make_model)
if(TARGET sis_python_asan)
  add_dependencies(deep_asan sis_python_asan sis_python)
endif()
get_property(names DIRECTORY PROPERTY TESTS)
foreach(name ${names})
  if(name MATCHES "^unit\\..*_asan$")
    deep_test(asan ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${SAN_ENV}")
  endif()
endforeach()
foreach(name ${CLI_TESTS})
  deep_test(asan cli.${name}_asan ${DEEP}/cli/run.sh --asan ${CMAKE_BINARY_DIR} ${name})
  set_tests_properties(cli.${name}_asan PROPERTIES ENVIRONMENT "${SAN_ENV}")
endforeach()
if(MICROHTTPD_FOUND)
  deep_test(asan serve.api_asan ${DEEP}/serve/run.sh api $<TARGET_FILE:sis_program_asan> ${CMAKE_SOURCE_DIR})
endif()
deep_test(asan python.asan ${CMAKE_SOURCE_DIR}/python/tests/run.sh asan ${CMAKE_BINARY_DIR})

# ---- tsan ----------------------------------------------------------------------------------------

set(RACING unit/test_model_threads.c unit/test_task_threads.c)
if(MICROHTTPD_FOUND)
  list(APPEND RACING unit/test_serve_threads.c)
endif()
unit_table(${CMAKE_CURRENT_BINARY_DIR}/unit_threads.c ${RACING})
add_executable(unit_threads_tsan EXCLUDE_FROM_ALL ${RACING} unit/driver.c
               ${CMAKE_CURRENT_BINARY_DIR}/unit_threads.c)
target_include_directories(unit_threads_tsan PRIVATE unit)
target_compile_definitions(unit_threads_tsan PRIVATE ${SIS_DEFINES} SIS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_compile_options(unit_threads_tsan PRIVATE ${RACES})
target_link_options(unit_threads_tsan PRIVATE ${RACES})
target_link_libraries(unit_threads_tsan PRIVATE sis_static_tsan PkgConfig::CMOCKA)
set_target_properties(unit_threads_tsan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(deep_tsan unit_threads_tsan)
foreach(source ${RACING})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE test_ "" name ${name})
  deep_test(tsan unit.${name}_tsan unit_threads_tsan ${name})
  set_tests_properties(unit.${name}_tsan PROPERTIES ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1")
endforeach()

# ---- clang, browser, mpi, ort, python, image, llm, arm64 -----------------------------------------------------

deep_test(clang tree.clang ${DEEP}/clang.sh ${CMAKE_BINARY_DIR})
deep_test(clang tree.portable ${DEEP}/portable.sh ${CMAKE_BINARY_DIR})

deep_test(browser report.browser ${DEEP}/report/run.sh $<TARGET_FILE:sis_program> ${CMAKE_BINARY_DIR}/report)
if(MICROHTTPD_FOUND)
  deep_test(browser serve.page ${DEEP}/serve/run.sh page $<TARGET_FILE:sis_program> ${CMAKE_SOURCE_DIR}
            ${CMAKE_BINARY_DIR}/serve)
  deep_test(image serve.image ${DEEP}/serve/run.sh image $<TARGET_FILE:sis_program> ${CMAKE_SOURCE_DIR})
endif()

if(TARGET sis_mpi)
  add_dependencies(deep_mpi sis_mpi)
endif()
deep_test(mpi mpi.same ${DEEP}/mpi.sh ${CMAKE_BINARY_DIR})
deep_test(mpi mpi.kills ${DEEP}/endure.py ${CMAKE_BINARY_DIR} kills 4)
deep_test(kills cli.kills ${DEEP}/endure.py ${CMAKE_BINARY_DIR} whole 20)
deep_test(mpi mpi.faults ${DEEP}/endure.py ${CMAKE_BINARY_DIR} faults 200)

deep_test(llm llm.story /usr/bin/python3 ${DEEP}/llm/run.py story $<TARGET_FILE:sis_program> ${CMAKE_BINARY_DIR}/llm)
deep_test(llm llm.faults /usr/bin/python3 ${DEEP}/llm/run.py faults $<TARGET_FILE:sis_program>)

deep_test(arm64 tree.arm64 ${DEEP}/arm64.sh ${CMAKE_BINARY_DIR})
set_tests_properties(tree.arm64 PROPERTIES TIMEOUT 1800) # it compiles everything

add_dependencies(deep_ort unit_model make_model)
unit_tests("" ${UNIT_DEEP})
foreach(name ${UNIT_DEEP})
  deep_test(ort unit.${name})
endforeach()
foreach(name ${CLI_DEEP})
  deep_test(ort cli.${name} ${DEEP}/cli/run.sh ${CMAKE_BINARY_DIR} ${name})
endforeach()
file(GLOB MODELS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/models/*.onnx)
python_test(models.elsewhere models.py $<TARGET_FILE:sis_program> ${MODELS})
deep_test(ort models.elsewhere)

python_test(models.xgboost xgboost_models.py $<TARGET_FILE:sis_program>)
deep_test(python models.xgboost)
python_test(models.encodings encodings.py $<TARGET_FILE:sis_program> ${CMAKE_BINARY_DIR}/python)
deep_test(python models.encodings)
add_test(NAME analysis.sklearn COMMAND ${DEEP}/sklearn.sh $<TARGET_FILE:unit_analysis>)
deep_test(python analysis.sklearn)
foreach(how wheel sdist editable abi3 mypy notebook)
  deep_test(python python.${how} ${CMAKE_SOURCE_DIR}/python/tests/run.sh ${how} ${CMAKE_BINARY_DIR})
endforeach()
add_dependencies(deep_python unit_analysis)
if(TARGET sis_python)
  add_dependencies(deep_python sis_python)
endif()

# ---- fuzz ----------------------------------------------------------------------------------------

# Fuzzing needs clang with libFuzzer, whatever compiler builds the rest, so the fuzzers have a build folder of
# their own.
set(FUZZ_SECONDS_WALK 34 CACHE STRING "Seconds the fuzzer of walks runs in the tests")
set(FUZZ_SECONDS_ONNX 15 CACHE STRING "Seconds the fuzzer of networks runs in the tests")
set(FUZZ_SECONDS 1 CACHE STRING "Seconds each of the other fuzzers runs in the tests")
find_program(CLANG clang)
set(FUZZ ${CMAKE_BINARY_DIR}/fuzz)
if(CLANG)
  file(WRITE ${FUZZ}/try.c
    "int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) { (void)b; return n > 9; }\n")
  execute_process(COMMAND ${CLANG} -fsanitize=fuzzer,address,undefined ${FUZZ}/try.c -o ${FUZZ}/try
    RESULT_VARIABLE FUZZ_MISSING OUTPUT_QUIET ERROR_QUIET)
endif()
if(CLANG AND FUZZ_MISSING EQUAL 0)
  set(build ${CMAKE_COMMAND} --build ${FUZZ} --target)
  if(CMAKE_GENERATOR MATCHES Makefiles)
    set(build $(MAKE) -C ${FUZZ}) # shares the number of jobs
  endif()
  add_custom_target(fuzzers
    COMMAND ${CMAKE_COMMAND} -S ${CMAKE_SOURCE_DIR} -B ${FUZZ} -DSIS_FUZZ=ON -DSIS_WERROR=ON
      -DCMAKE_C_COMPILER=${CLANG} -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER} >${FUZZ}/log
    COMMAND ${build} fuzz_targets VERBATIM)
  add_executable(fuzz_seeds EXCLUDE_FROM_ALL fuzz/fuzz_seeds.c unit/support.c ${UNIT_HELPERS})
  target_include_directories(fuzz_seeds PRIVATE unit ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(fuzz_seeds SYSTEM PRIVATE ${GENERATED})
  target_compile_definitions(fuzz_seeds PRIVATE _GNU_SOURCE SIS_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    SIS_BINARY_DIR="${CMAKE_BINARY_DIR}" SIS_ONNX_CASES="${ONNX_CASES}")
  target_link_libraries(fuzz_seeds PRIVATE sis_static PkgConfig::CMOCKA)
  target_link_options(fuzz_seeds PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc)
  add_dependencies(deep_fuzz fuzzers fuzz_seeds)
  add_dependencies(deep_clang fuzzers) # tree.clang does not compile again what the fuzzers compiled
  file(GLOB FUZZERS CONFIGURE_DEPENDS fuzz/fuzz_*.c)
  list(FILTER FUZZERS EXCLUDE REGEX "/fuzz_seeds\\.c$")
  foreach(source ${FUZZERS})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE fuzz_ "" test ${name})
    set(seconds ${FUZZ_SECONDS})
    if(test STREQUAL walk)
      set(seconds ${FUZZ_SECONDS_WALK})
    elseif(test STREQUAL onnx)
      set(seconds ${FUZZ_SECONDS_ONNX})
    endif()
    deep_test(fuzz fuzz.${test} ${DEEP}/fuzz/run.sh ${FUZZ}/${name} $<TARGET_FILE:fuzz_seeds> ${seconds})
  endforeach()
else()
  deep_test(fuzz fuzz.onnx sh -c
    "echo 'skipped: fuzzing needs clang and libFuzzer (Debian: clang, libclang-rt-dev)'; exit 77")
endif()
