// The façade: what a user includes.
//   #include <tidemark/tidemark.h>
//   namespace td = tidemark;
#pragma once
#include "tidemark/autodiff/custom_vjp.h"
#include "tidemark/autodiff/transforms.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/data/image_files.h"
#include "tidemark/data/loader.h"
#include "tidemark/data/token_file.h"
#include "tidemark/data/tokenizer.h"
#include "tidemark/engine/compile.h"
#include "tidemark/engine/session.h"
#include "tidemark/files/save_load.h"
#include "tidemark/ode/odeint.h"
#include "tidemark/optim/optimizers.h"
#include "tidemark/schedule/run.h"
#include "tidemark/trace/array_functions.h"
#include "tidemark/trace/control_flow.h"
#include "tidemark/trace/cumulative.h"
#include "tidemark/trace/dlpack.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/hints.h"
#include "tidemark/trace/image_functions.h"
#include "tidemark/trace/linear_algebra.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/print.h"
#include "tidemark/trace/random_functions.h"
#include "tidemark/trace/reversible.h"
#include "tidemark/trace/statistics.h"
#include "tidemark/trace/tensor.h"
#include "tidemark/trace/tree.h"
#include "tidemark/train/checkpoints.h"
#include "tidemark/train/log_file.h"
#include "tidemark/train/metrics.h"
#include "tidemark/train/progress.h"

namespace tidemark {
inline const bool engine_installed = install_engine();
}
