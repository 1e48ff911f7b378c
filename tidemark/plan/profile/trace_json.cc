// A profile as the trace events that chrome://tracing and ui.perfetto.dev read: a thread for each lane, a
// counter for each memory, an arrow from what was computed or moved out to where it is computed again or
// comes back. The format: "Trace Event Format", JSON Object Format (the Chromium project).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tidemark/plan/profile/profile.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;
constexpr int process = 1;

// Whole nanoseconds, so that slices which touch do not overlap by a rounding.
std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(std::llround(1e9 * seconds)); }
double microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

struct Slice {
  std::int64_t begin = 0, end = 0;
};

class TraceWriter {
 public:
  explicit TraceWriter(const Profile& profile) : profile_(profile) {}

  std::string write() {
    name("process_name", 0, "plan " + profile_.plan_hash);
    for (std::size_t lane = 0; lane < profile_.lanes.size(); ++lane)
      name("thread_name", thread_of(static_cast<std::int32_t>(lane)), profile_.lanes[lane]);
    const ProfileRun& run = profile_.typical();
    for (std::size_t k = 0; k < profile_.body.kernels.size(); ++k)
      slices_.push_back({nanoseconds(run.kernel_begin[k]), nanoseconds(run.kernel_end[k])});
    for (std::size_t k = 0; k < slices_.size(); ++k) {
      const ProfileKernel& kernel = profile_.body.kernels[k];
      add_slice(profile_.body, kernel, slices_[k], thread_of(kernel.lane), 1);
      add_bodies(profile_.body, kernel, slices_[k], thread_of(kernel.lane));
    }
    add_flows();
    for (const ProfileMemory& memory : profile_.memories) add_counter(memory);
    return finish();
  }

 private:
  static int thread_of(std::int32_t lane) { return lane + 1; }

  void name(std::string_view what, int thread, const std::string& text) {
    events_.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}});
  }

  // `runs`: how often the kernel runs in a run of the plan. Of a body, the slice is all of them.
  void add_slice(const ProfileBody& body, const ProfileKernel& kernel, const Slice& slice, int thread,
                 double runs) {
    const ProfileStep& last = body.steps[static_cast<std::size_t>(kernel.last) - 1];
    Json args = {{"step", kernel.first},
                 {"steps", kernel.last - kernel.first},
                 {"predicted_us", 1e6 * kernel.predicted * runs},
                 {"median_us", 1e6 * kernel.measured}};
    if (!last.name.empty()) args["value"] = last.name;
    if (!last.file.empty()) args["line"] = fmt::format("{}:{}", last.file, last.line);
    if (last.origin >= 0) args[last.kind == StepKind::compute ? "recomputes" : "brings_back"] = last.origin;
    if (&body != &profile_.body) args["iterations"] = runs;
    events_.push_back({{"ph", "X"},
                       {"name", ops_of(body, kernel)},
                       {"cat", &body == &profile_.body ? name_of(last.kind) : "summed"},
                       {"pid", process},
                       {"tid", thread},
                       {"ts", microseconds(slice.begin)},
                       {"dur", microseconds(slice.end - slice.begin)},
                       {"args", std::move(args)}});
  }

  // The bodies of a kernel's loop: what all iterations of each of their kernels took, one beside the other
  // inside of the loop's slice, which they fill at most.
  void add_bodies(const ProfileBody& body, const ProfileKernel& kernel, const Slice& slice, int thread) {
    double sum = 0;
    for (const ProfileBody& inner : body.bodies) {
      if (inner.step < kernel.first || inner.step >= kernel.last) continue;
      for (const ProfileKernel& part : inner.kernels) sum += part.measured;
    }
    const double length = static_cast<double>(slice.end - slice.begin);
    const double scale = 1e9 * sum > length ? length / sum : 1e9;
    double at = 0;
    for (const ProfileBody& inner : body.bodies) {
      if (inner.step < kernel.first || inner.step >= kernel.last) continue;
      for (const ProfileKernel& part : inner.kernels) {
        const auto place = [&](double offset) {
          return std::min(slice.end, slice.begin + static_cast<std::int64_t>(std::llround(offset)));
        };
        const Slice within{place(at), place(at + scale * part.measured)};
        at += scale * part.measured;
        add_slice(inner, part, within, thread, inner.iterations);
        add_bodies(inner, part, within, thread);
      }
    }
  }

  void add_flows() {
    for (const ProfileStep& step : profile_.body.steps) {
      if (step.origin < 0) continue;
      const std::int32_t from = profile_.body.steps[static_cast<std::size_t>(step.origin)].kernel;
      if (from == step.kernel) continue;
      const std::string_view what = step.kind == StepKind::compute ? "computed again" : "comes back";
      ++flows_;
      add_flow_end("s", what, from);
      add_flow_end("f", what, step.kernel);
    }
  }

  void add_flow_end(std::string_view phase, std::string_view what, std::int32_t kernel) {
    const auto k = static_cast<std::size_t>(kernel);
    Json event = {{"ph", phase},
                  {"name", what},
                  {"cat", "flow"},
                  {"id", flows_},
                  {"pid", process},
                  {"tid", thread_of(profile_.body.kernels[k].lane)},
                  {"ts", microseconds(slices_[k].begin)}};
    if (phase == "f") event["bp"] = "e";  // of the slice that is there, not of the next one
    events_.push_back(std::move(event));
  }

  void add_counter(const ProfileMemory& memory) {
    for (const ProfileMemory::Point& point : memory.curve) {
      events_.push_back({{"ph", "C"},
                         {"name", "memory " + memory.name},
                         {"pid", process},
                         {"ts", microseconds(nanoseconds(point.seconds))},
                         {"args", {{"bytes", point.bytes}}}});
    }
  }

  // Names are the user's: whatever is no UTF-8 is replaced, and all else escaped as JSON has it.
  std::string finish() const {
    const auto text = [](const Json& json) {
      return json.dump(-1, ' ', true, Json::error_handler_t::replace);
    };
    std::string all = "{\"displayTimeUnit\": \"ms\", \"otherData\": ";
    all += text({{"plan_hash", profile_.plan_hash}, {"machine", profile_.machine}}) + ",\n\"traceEvents\": [";
    for (std::size_t i = 0; i < events_.size(); ++i) all += (i > 0 ? ",\n" : "\n") + text(events_[i]);
    return all + "\n]}";
  }

  const Profile& profile_;
  std::vector<Slice> slices_;  // per kernel
  std::vector<Json> events_;
  int flows_ = 0;
};

}  // namespace

std::string Profile::to_trace() const { return TraceWriter(*this).write(); }

}  // namespace tidemark
