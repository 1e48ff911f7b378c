// The `tidemark` command: one file per subcommand, each with one row here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "tidemark/base/error.h"
#include "tools/commands/demo.h"
#include "tools/commands/fit.h"
#include "tools/commands/frontier.h"
#include "tools/commands/layout.h"
#include "tools/commands/machine.h"
#include "tools/commands/ops.h"
#include "tools/commands/plan.h"
#include "tools/commands/schedule.h"
#include "tools/exit_code.h"
#include "tools/text_file.h"

int main(int argc, char** argv) {
  using namespace tidemark;
  CLI::App app("Derivatives of C++ functions inside a byte budget", "tidemark");
  app.require_subcommand(1);
  int exit_code = cli::exit_ok;
  cli::add_demo(app, exit_code);
  cli::add_plan(app, exit_code);
  cli::add_fit(app, exit_code);
  cli::add_frontier(app, exit_code);
  cli::add_layout(app, exit_code);
  cli::add_schedule(app, exit_code);
  cli::add_machine(app, exit_code);
  cli::add_ops(app, exit_code);
  try {
    app.parse(argc, argv);
    cli::flush_output();
  } catch (const CLI::ValidationError& error) {  // a value that is wrong is input, not usage
    app.exit(error);
    return cli::exit_bad_input;
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    if (status == 0 && std::fflush(stdout) != 0) return cli::exit_failure;  // --help to a full disk
    return status == 0 ? cli::exit_ok : cli::exit_usage;
  } catch (const DeviceError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cli::exit_failure;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cli::exit_code_of(error.code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: there is not enough memory\n");
    return cli::exit_failure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cli::exit_failure;
  }
  return exit_code;
}
