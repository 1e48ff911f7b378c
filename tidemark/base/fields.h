// TM_FIELDS(Type, a, b, c) inside a struct lists its members once; attributes, trees of tensors, printing and
// files all walk that list. `for_each_field(object, f)` calls f("a", object.a), f("b", object.b), …
#pragma once
#include <concepts>
#include <utility>

namespace tidemark {

template <class T>
concept HasFields = requires {
  typename std::remove_cvref_t<T>::tm_has_fields;
};

template <class Object, class F>
requires HasFields<Object>
void for_each_field(Object& object, F&& f) { std::remove_cvref_t<Object>::tm_visit_fields(object, f); }

}  // namespace tidemark

#define TM_FIELDS_PARENS ()
#define TM_FIELDS_EXPAND(...) TM_FIELDS_EXPAND3(TM_FIELDS_EXPAND3(TM_FIELDS_EXPAND3(__VA_ARGS__)))
#define TM_FIELDS_EXPAND3(...) TM_FIELDS_EXPAND2(TM_FIELDS_EXPAND2(TM_FIELDS_EXPAND2(__VA_ARGS__)))
#define TM_FIELDS_EXPAND2(...) TM_FIELDS_EXPAND1(TM_FIELDS_EXPAND1(TM_FIELDS_EXPAND1(__VA_ARGS__)))
#define TM_FIELDS_EXPAND1(...) __VA_ARGS__
#define TM_FIELDS_EACH(first, ...)   \
  tm_visitor(#first, tm_self.first); \
  __VA_OPT__(TM_FIELDS_AGAIN TM_FIELDS_PARENS(__VA_ARGS__))
#define TM_FIELDS_AGAIN() TM_FIELDS_EACH

#define TM_FIELDS(Type, ...)                                                              \
  using tm_has_fields = Type;                                                             \
  template <class TmSelf, class TmVisitor>                                                \
  static void tm_visit_fields([[maybe_unused]] TmSelf& tm_self, TmVisitor&& tm_visitor) { \
    (void)tm_visitor;                                                                     \
    __VA_OPT__(TM_FIELDS_EXPAND(TM_FIELDS_EACH(__VA_ARGS__)))                             \
  }
