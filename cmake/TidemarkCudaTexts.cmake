# Writes the texts that generated CUDA kernels include (tidemark/cuda/device_texts.h) into a source file of the build. The
# standard headers that they name are all one text, which has what formulas use.
function(tm_cuda_texts out)
  set(files base/dtype.h base/number.h base/philox.h kernel/fold.h kernel/simd_math_coefficients.h ops/scalar/cast_element.h ops/scalar/clamp_element.h
      ops/scalar/elementwise_integer.h ops/scalar/erf_inverse.h ops/scalar/erf_inverse.cc ops/scalar/gamma_functions.h
      ops/scalar/gamma_functions.cc ops/scalar/normal_quantile_number.h ops/scalar/scalar_math.h
      ops/scalar/scalar_math.inc ops/quantization/fp8_number.h cuda/device/fp8.h cuda/device/early_start.h cuda/device/elements.h cuda/device/float16.h cuda/device/folds.h cuda/device/chunks.h
      cuda/device/convolution.h cuda/device/head.h cuda/device/indexing.h cuda/device/movement.h cuda/device/normal.h
      cuda/device/half_arithmetic.h cuda/device/short_formulas.h
      cuda/device/norms.h cuda/device/norm_columns.h cuda/device/product.h
      cuda/device/random.h cuda/device/row_folds.h cuda/device/rows.h cuda/device/softmax.h cuda/device/teams.h
      cuda/device/order.h cuda/device/pools.h cuda/device/attention.h cuda/device/attention_matrices.h
      cuda/device/attention_mma.h cuda/device/attention_mma_grad.h cuda/device/attention_rows.h
      cuda/device/attention_sizes.h cuda/device/attention_tiles.h cuda/device/attention_warpgroups.h
      cuda/device/attention_wgmma.h cuda/device/attention_wgmma_grad.h cuda/device/barriers.h cuda/device/thin_product.h
      cuda/device/warp.h cuda/device/wgmma.h)
  set(standard array bit cmath concepts cstddef cstdint limits math.h numbers optional string string_view type_traits utility)
  set(text "// Written by cmake/TidemarkCudaTexts.cmake.\n#include \"tidemark/cuda/device_texts.h\"\n
namespace tidemark::cuda {\n\nstd::span<const DeviceText> device_texts() {\n  static constexpr DeviceText texts[] = {\n")
  set(paths "${PROJECT_SOURCE_DIR}/tidemark/cuda/device/standard.h")
  foreach(file IN LISTS files)
    list(APPEND paths "${PROJECT_SOURCE_DIR}/tidemark/${file}")
    file(READ "${PROJECT_SOURCE_DIR}/tidemark/${file}" content)
    string(APPEND text "{\"tidemark/${file}\", R\"tidemark-text(${content})tidemark-text\"},\n")
  endforeach()
  file(READ "${PROJECT_SOURCE_DIR}/tidemark/cuda/device/standard.h" content)
  string(APPEND text "{\"tidemark/cuda/device/standard.h\", R\"tidemark-text(${content})tidemark-text\"},\n")
  foreach(name IN LISTS standard)
    string(APPEND text "{\"${name}\", \"#include \\\"tidemark/cuda/device/standard.h\\\"\\n\"},\n")
  endforeach()
  string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace tidemark::cuda\n")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${paths})
  set(path "${PROJECT_BINARY_DIR}/generated/cuda_device_texts.cc")
  file(WRITE "${path}.new" "${text}")
  configure_file("${path}.new" "${path}" COPYONLY)  # which touches it only where it differs
  set(${out} "${path}" PARENT_SCOPE)
endfunction()
