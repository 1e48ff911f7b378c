// Sets of small images: IDX files (MNIST and its kin) and the binary versions of CIFAR.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/trace/tree.h"

namespace tidemark {
class FileBytes;
}

namespace tidemark::data {

// IDX: u8, i8, i16, i32, f32, f64, big-endian; up to 8 dimensions. i8 and i16 are loaded as i32.
Tensor read_idx(const std::string& path, SourceLine where = std::source_location::current());
Tensor read_idx(const FileBytes& file);

struct Images {
  Tensor images;  // u8
  Tensor labels;  // i32
  TM_FIELDS(Images, images, labels)
};
// Of train-images-idx3-ubyte and train-labels-idx1-ubyte, say: as many labels as images.
Images read_mnist(const std::string& images, const std::string& labels,
                  SourceLine where = std::source_location::current());

// images (N, 3, 32, 32); of data_batch_1.bin … data_batch_5.bin, say, one after the other. For CIFAR-100
// labels are the fine ones of 100 classes, or the coarse ones of 20.
enum class Cifar { ten, hundred, hundred_coarse };
Images read_cifar(const std::vector<std::string>& paths, Cifar kind = Cifar::ten,
                  SourceLine where = std::source_location::current());
Images read_cifar(std::span<const FileBytes> files, Cifar kind);

}  // namespace tidemark::data
