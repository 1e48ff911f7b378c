// The methods: from y at interval.begin to y at interval.end, all written with loops of the graph, so that
// their gradients run on the schedules of loops.
#pragma once
#include "tidemark/ode/field.h"
#include "tidemark/ode/options.h"

namespace tidemark::ode {

// Of the fixed steps of an interval, `count` from the one numbered `first` (i64) on.
struct Part {
  Tensor first;
  std::int64_t count;
};

// Any method but implicit_midpoint.
List integrate(const ParameterField& f, const List& y0, const List& parameters, Interval time,
               const OdeOptions& options, SourceLine where);

List explicit_steps(const Field& f, const List& y0, Interval time, const OdeOptions& options,
                    SourceLine where,
                    const Part* part = nullptr);  // euler, midpoint, rk4
List dopri5(const ParameterField& f, const List& y0, const List& parameters, Interval time,
            const OdeOptions& options, SourceLine where);
// `frozen`: f with parameters through which no gradient passes.
List implicit_midpoint(const Field& f, const Field& frozen, const List& y0, Interval time,
                       const OdeOptions& options, SourceLine where);
// {y, v} at the end; v runs beside y as its slope.
std::pair<List, List> leapfrog(const Field& f, const List& y0, Interval time, const OdeOptions& options,
                               SourceLine where);
std::pair<List, List> leapfrog_part(const Field& f, const std::pair<List, List>& start, Interval time,
                                    const OdeOptions& options, SourceLine where, const Part& part);

// Time at `step` + `fraction` of fixed steps of h: the same bits forwards and backwards.
Tensor time_at(double begin, double h, const Tensor& step, double fraction, DType dtype);

}  // namespace tidemark::ode
