/**
 * @file handle.hpp
 * Handles, and how a call is made in its two forms. A part of pointsman.hpp, which is the header to include.
 */
#ifndef POINTSMAN_HANDLE_HPP
#define POINTSMAN_HANDLE_HPP

#include <pointsman/error.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace pointsman {

namespace detail {

template <class T, void (*Free)(T *)>
class handle {
public:
    handle() noexcept = default;
    explicit handle(T *raw) noexcept : raw_(raw) {}
    handle(handle &&other) noexcept : raw_(other.release()) {}
    handle &operator=(handle &&other) noexcept
    {
        if (this != &other)
            Free(std::exchange(raw_, other.release()));
        return *this;
    }
    ~handle() { Free(raw_); }

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    /** For calls of pointsman.h. */
    T *raw() const noexcept { return raw_; }
    /** Hands the handle over to who calls, and forgets it. */
    T *release() noexcept { return std::exchange(raw_, nullptr); }

private:
    T *raw_ = nullptr;
};

/** Makes a call that fills a value. */
template <class R, class F>
R filled(error &error, F call) noexcept
{
    R value{};
    error.take(call(&value));
    return value;
}

/** Makes a call that fills a handle. */
template <class H, class T, class F>
H made(error &error, F call) noexcept
{
    T *raw = nullptr;
    error.take(call(&raw));
    return H(raw);
}

#if POINTSMAN_EXCEPTIONS
/** Makes a noexcept call, and throws what it tells. */
template <class F>
auto raised(F call)
{
    error told;
    if constexpr (std::is_void_v<decltype(call(told))>) {
        call(told);
        if (told)
            throw exception(told);
    } else {
        auto value = call(told);
        if (told)
            throw exception(told);
        return value;
    }
}
#endif

} // namespace detail

#if POINTSMAN_EXCEPTIONS
/* The throwing form of a call: the same, without the error. */
#define POINTSMAN_THROWING(...) { return detail::raised([&](pointsman::error &e) { return __VA_ARGS__; }); }
#endif

/** A text that the library made, as JSON. */
class string : public detail::handle<pointsman_string, pointsman_string_free> {
public:
    using handle::handle;
    /** Valid as long as the string. */
    std::string_view view() const noexcept
    {
        return raw() ? std::string_view(pointsman_string_data(raw()), pointsman_string_len(raw())) : std::string_view();
    }
};

} // namespace pointsman

#endif /* POINTSMAN_HANDLE_HPP */
