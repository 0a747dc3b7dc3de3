/**
 * @file error.hpp
 * Errors and exceptions. A part of pointsman.hpp, which is the header to include.
 */
#ifndef POINTSMAN_ERROR_HPP
#define POINTSMAN_ERROR_HPP

#include <pointsman.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define POINTSMAN_EXCEPTIONS 1
#include <stdexcept>
#include <string>
#else
#define POINTSMAN_EXCEPTIONS 0
#endif

namespace pointsman {

/** What a call came to. Reused from call to call; `if (error)` asks whether the last one failed. */
class error {
public:
    explicit operator bool() const noexcept { return raw_.code != POINTSMAN_OK; }
    pointsman_result code() const noexcept { return raw_.code; }
    bool is_no_instance() const noexcept { return pointsman_is_no_instance(raw_.code); }
    /** The element at fault, or the tier that came furthest; POINTSMAN_NO_INDEX where there is none. */
    std::size_t index() const noexcept { return raw_.index; }
    std::uint32_t branch() const noexcept { return raw_.branch; }
    std::string_view field() const noexcept { return raw_.field; }
    std::string_view message() const noexcept { return raw_.message; }

    /** For calls of pointsman.h. */
    pointsman_error *raw() noexcept { return &raw_; }
    /** Takes the result of a call that was given `raw()`. */
    bool take(pointsman_result result) noexcept
    {
        raw_.code = result;
        return result == POINTSMAN_OK;
    }

private:
    pointsman_error raw_ = POINTSMAN_ERROR_INIT;
};

#if POINTSMAN_EXCEPTIONS
/** An error that was thrown. */
class exception : public std::runtime_error {
public:
    explicit exception(const error &error) : std::runtime_error(std::string(error.message())), error_(error) {}
    const pointsman::error &error() const noexcept { return error_; }

private:
    pointsman::error error_;
};
#endif

} // namespace pointsman

#endif /* POINTSMAN_ERROR_HPP */
