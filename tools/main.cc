// The `tidemark` command: one file per subcommand, each with one row here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>

#include "tidemark/base/error.h"
#include "tools/commands/completion.h"
#include "tools/commands/demo.h"
#include "tools/commands/explain.h"
#include "tools/commands/fit.h"
#include "tools/commands/frontier.h"
#include "tools/commands/help.h"
#include "tools/commands/layout.h"
#include "tools/commands/machine.h"
#include "tools/commands/ops.h"
#include "tools/commands/plan.h"
#include "tools/commands/schedule.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/help/unknown_words.h"
#include "tools/text_file.h"

int main(int argc, char** argv) {
  using namespace tidemark;
  CLI::App app("Derivatives of C++ functions inside a byte budget", "tidemark");
  app.require_subcommand(1);
  app.formatter(std::make_shared<cli::Manual>());  // before the subcommands, which take it over
  app.set_help_flag("-h,--help", "show this page");
  int exit_code = cli::exit_ok;
  cli::add_demo(app, exit_code);
  cli::add_plan(app, exit_code);
  cli::add_explain(app, exit_code);
  cli::add_fit(app, exit_code);
  cli::add_frontier(app, exit_code);
  cli::add_layout(app, exit_code);
  cli::add_schedule(app, exit_code);
  cli::add_machine(app, exit_code);
  cli::add_ops(app, exit_code);
  cli::add_completion(app, exit_code);
  cli::add_help(app, exit_code);
  cli::describe(
      app, {.about = "Plans and runs training steps, simulations and buffers inside a given memory. "
                     "`tidemark help COMMAND` has the options and examples of each command; docs/cli.md "
                     "says more.",
            .examples = {{"tidemark demo", "a first look: a small GPT that trains inside 40% of its memory"},
                         {"tidemark plan gpt2 --memory 60%", "what a training step of GPT-2 takes there"}},
            .exits = {cli::exit_ok, cli::exit_failure, cli::exit_usage, cli::exit_infeasible,
                      cli::exit_bad_input, cli::exit_gave_up}});
  if (const auto unknown = cli::unknown_command(app, argc, argv)) {
    fmt::print(stderr, "{}", *unknown);
    return cli::exit_usage;
  }
  try {
    app.parse(argc, argv);
    cli::flush_output();
  } catch (const CLI::ValidationError& error) {  // a value that is wrong is input, not usage
    app.exit(error);
    return cli::exit_bad_input;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {  // not --help
      if (const auto unknown = cli::unknown_option(app)) {
        fmt::print(stderr, "{}", *unknown);
        return cli::exit_usage;
      }
      if (const auto missing = cli::missing_word(app, error)) {
        fmt::print(stderr, "{}", *missing);
        return cli::exit_usage;
      }
    }
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
