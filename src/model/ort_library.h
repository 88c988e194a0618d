/* SPDX-License-Identifier: MIT
 *
 * The shared library of ONNX Runtime, loaded on first use. It is not needed to build: its only
 * symbol is OrtGetApiBase, which returns a table of functions that only grows, so the slots below
 * stay valid (test_model_ort.c tests each of them).
 *
 * Search order: only the file $SIS_ORT, if set; the folder of sis_model_ort_folder(); the loader's
 * own folders; the onnxruntime wheel of the python3 in $PATH; ort/ next to the program. Never
 * relative to the working directory.
 */
#ifndef SIS_MODEL_ORT_LIBRARY_H
#define SIS_MODEL_ORT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* Opaque objects. A status of NULL means success. */
typedef void ort_status, ort_environment, ort_session_options, ort_session, ort_type_info,
    ort_tensor_info, ort_allocator, ort_memory_info, ort_run_options, ort_value;

/* slot, name, result, arguments */
#define SIS__ORT_CALLS(X)                                                                          \
    X(2, error_message, const char *, (const ort_status *))                                        \
    X(3, create_env, ort_status *, (int level, const char *id, ort_environment **))                \
    X(7, create_session, ort_status *,                                                             \
      (const ort_environment *, const char *path, const ort_session_options *, ort_session **))    \
    X(8, create_session_from, ort_status *,                                                        \
      (const ort_environment *, const void *bytes, size_t n, const ort_session_options *,          \
       ort_session **))                                                                            \
    X(9, run, ort_status *,                                                                        \
      (ort_session *, const ort_run_options *, const char *const *inputs,                          \
       const ort_value *const *given, size_t n_inputs, const char *const *outputs,                 \
       size_t n_outputs, ort_value **results))                                                     \
    X(10, create_options, ort_status *, (ort_session_options **))                                  \
    X(24, set_threads_inside, ort_status *, (ort_session_options *, int))                          \
    X(25, set_threads_between, ort_status *, (ort_session_options *, int))                         \
    X(30, input_count, ort_status *, (const ort_session *, size_t *))                              \
    X(31, output_count, ort_status *, (const ort_session *, size_t *))                             \
    X(33, input_type, ort_status *, (const ort_session *, size_t, ort_type_info **))               \
    X(34, output_type, ort_status *, (const ort_session *, size_t, ort_type_info **))              \
    X(36, input_name, ort_status *, (const ort_session *, size_t, ort_allocator *, char **))       \
    X(37, output_name, ort_status *, (const ort_session *, size_t, ort_allocator *, char **))      \
    X(48, tensor_new, ort_status *,                                                                \
      (ort_allocator *, const int64_t *dims, size_t rank, int type, ort_value **))                 \
    X(49, tensor_on, ort_status *,                                                                 \
      (const ort_memory_info *, void *data, size_t bytes, const int64_t *dims, size_t rank,        \
       int type, ort_value **))                                                                    \
    X(51, tensor_data, ort_status *, (ort_value *, void **))                                       \
    X(52, tensor_put_texts, ort_status *, (ort_value *, const char *const *texts, size_t n))       \
    X(55, tensor_of_type, ort_status *, (const ort_type_info *, const ort_tensor_info **))         \
    X(56, kind_of_type, ort_status *, (const ort_type_info *, int *))                              \
    X(60, element_type, ort_status *, (const ort_tensor_info *, int *))                            \
    X(61, rank, ort_status *, (const ort_tensor_info *, size_t *))                                 \
    X(62, dims, ort_status *, (const ort_tensor_info *, int64_t *, size_t))                        \
    X(64, element_count, ort_status *, (const ort_tensor_info *, size_t *))                        \
    X(65, info_of_value, ort_status *, (const ort_value *, ort_tensor_info **))                    \
    X(67, kind_of_value, ort_status *, (const ort_value *, int *))                                 \
    X(69, create_memory, ort_status *, (int allocator, int type, ort_memory_info **))              \
    X(76, free_memory, ort_status *, (ort_allocator *, void *))                                    \
    X(78, default_allocator, ort_status *, (ort_allocator **))                                     \
    X(80, part, ort_status *, (const ort_value *, int, ort_allocator *, ort_value **))             \
    X(81, part_count, ort_status *, (const ort_value *, size_t *))                                 \
    X(93, release_status, void, (ort_status *))                                                    \
    X(95, release_session, void, (ort_session *))                                                  \
    X(96, release_value, void, (ort_value *))                                                      \
    X(98, release_type, void, (ort_type_info *))                                                   \
    X(99, release_info, void, (ort_tensor_info *))                                                 \
    X(100, release_options, void, (ort_session_options *))

/* The library, loaded once for the life of the process. */
typedef struct sis__ort_library {
#define SIS__ORT_POINTER(slot, name, result, arguments) result(*name) arguments;
    SIS__ORT_CALLS(SIS__ORT_POINTER)
#undef SIS__ORT_POINTER
    ort_environment *env;
    ort_memory_info *memory;
    ort_allocator *allocator;
    char engine[64];   /* "ONNX Runtime 1.30.0" */
    char problem[512]; /* why it is not available; "": it is */
} sis__ort_library;
extern sis__ort_library sis__ort;

/* Load it. SIS_E_UNSUPPORTED if it is not installed; the message says what to do. */
int sis__ort_load(void);

/* Turn a status into one of our errors. */
int sis__ort_check(ort_status *s);

/* Call a function of the library: 0, or one of our errors. */
#define SIS__ORT(name, ...) sis__ort_check(sis__ort.name(__VA_ARGS__))

#endif
