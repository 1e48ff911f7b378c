// Third-party graphs within budgets, at normal effort; optima as proved by integer programs. The larger ones
// are in instances_slow_test.cc.
#include "tests/support/remat_instances.h"

namespace tidemark {
namespace {

using testing::RematInstance;
using testing::RematInstances;

TEST_P(RematInstances, AreAtTheirOptimum) { expect_within(0.005); }

INSTANTIATE_TEST_SUITE_P(
    FixedOrder, RematInstances,
    ::testing::Values(RematInstance{"vgg16", 95, 0.774}, RematInstance{"vgg16", 90, 1.968},
                      RematInstance{"vgg16", 85, 1.968}, RematInstance{"fcn8", 90, 0.0294},
                      RematInstance{"fcn8", 80, 0.1361}, RematInstance{"fcn8", 70, 0.8916},
                      RematInstance{"fcn8", 65, 1.6173}, RematInstance{"unet", 90, 1.129},
                      RematInstance{"unet", 80, 1.984}, RematInstance{"unet", 70, 2.967},
                      RematInstance{"unet", 60, 4.451}, RematInstance{"unet", 50, 6.967},
                      RematInstance{"unet", 45, 9.321}, RematInstance{"mobilenet", 80, 0.370},
                      RematInstance{"layered100", 90, 0.789}),
    testing::name_of);

INSTANTIATE_TEST_SUITE_P(FreeOrder, RematInstances,
                         ::testing::Values(RematInstance{"layered100", 90, 0, false},
                                           RematInstance{"layered100", 80, 0, false},
                                           RematInstance{"layered250", 90, 0, false},
                                           RematInstance{"layered250", 80, 0, false}),
                         testing::name_of);

}  // namespace
}  // namespace tidemark
