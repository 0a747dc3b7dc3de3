/**
 * @file values.hpp
 * What a caller hands over and gets by value: texts, tags, instances, requests, picks. A part of pointsman.hpp, which is the header to include.
 */
#ifndef POINTSMAN_VALUES_HPP
#define POINTSMAN_VALUES_HPP

#include <pointsman.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>

namespace pointsman {

/** Text for C. Empty text is given text. */
struct str : pointsman_str {
    str(std::string_view text) noexcept : pointsman_str{text.data() ? text.data() : "", text.size()} {}
    str(const char *text) noexcept : str(std::string_view(text)) {}
    template <class T, class = std::enable_if_t<std::is_convertible_v<const T &, std::string_view>>>
    str(const T &text) noexcept : str(std::string_view(text)) {}
};

/** A key and one of its values. */
struct tag : pointsman_tag {
    tag(str key, str value) noexcept : pointsman_tag{key, value} {}
};

static_assert(sizeof(str) == sizeof(pointsman_str) && sizeof(tag) == sizeof(pointsman_tag), "arrays of one are of the other");

/** How a pick was found, by value. */
using pick = pointsman_pick;

inline std::string_view view(pointsman_str text) noexcept
{
    return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.len);
}

/** One address that can take requests. Refers to its texts and tags; the pool copies them. */
class instance {
public:
    explicit instance(str address) noexcept { raw_.address = address; }
    instance &id(str id) noexcept { return raw_.id = id, *this; }
    instance &zone(str zone) noexcept { return raw_.zone = zone, *this; }
    instance &weight(double weight) noexcept { return raw_.weight = weight, *this; }
    instance &load(double load) noexcept { return raw_.load = load, raw_.has_load = true, *this; }
    instance &healthy(bool healthy) noexcept { return raw_.healthy = healthy, *this; }
    instance &enabled(bool enabled) noexcept { return raw_.enabled = enabled, *this; }
    instance &max_in_flight(std::uint32_t limit) noexcept { return raw_.max_in_flight = limit, *this; }
    instance &user_data(std::uint64_t value) noexcept { return raw_.user_data = value, *this; }
    instance &user_data(void *value) noexcept { return user_data(reinterpret_cast<std::uintptr_t>(value)); }
    /** The tags must live until the instance has gone to a pool. */
    template <class Tags>
    instance &tags(const Tags &tags) noexcept
    {
        const tag *first = std::data(tags);
        return raw_.tags = first, raw_.tag_count = std::size(tags), *this;
    }
    instance &tags(std::initializer_list<tag> tags) noexcept { return this->tags<std::initializer_list<tag>>(tags); }
    const pointsman_instance *raw() const noexcept { return &raw_; }

private:
    pointsman_instance raw_ = POINTSMAN_INSTANCE_INIT;
};

static_assert(sizeof(instance) == sizeof(pointsman_instance), "an array of one is an array of the other");

/** What the caller knows of the request that is to be sent. Refers to what it is given, which must live until the pick. */
class request {
public:
    template <class Tags>
    request &tags(const Tags &tags) noexcept
    {
        const tag *first = std::data(tags);
        return raw_.tags = first, raw_.tag_count = std::size(tags), *this;
    }
    request &tags(std::initializer_list<tag> tags) noexcept { return this->tags<std::initializer_list<tag>>(tags); }
    template <class Tags>
    request &require(const Tags &tags) noexcept
    {
        const tag *first = std::data(tags);
        return raw_.require = first, raw_.require_count = std::size(tags), *this;
    }
    request &require(std::initializer_list<tag> tags) noexcept { return require<std::initializer_list<tag>>(tags); }
    template <class Ids>
    request &exclude(const Ids &ids) noexcept
    {
        const str *first = std::data(ids);
        return raw_.exclude = first, raw_.exclude_count = std::size(ids), *this;
    }
    request &exclude(std::initializer_list<str> ids) noexcept { return exclude<std::initializer_list<str>>(ids); }
    request &key(std::string_view key) noexcept
    {
        return raw_.key = key.data() ? key.data() : "", raw_.key_len = key.size(), *this;
    }
    request &prefer(str id) noexcept { return raw_.prefer = id, *this; }
    request &relax(bool relax = true) noexcept { return raw_.relax = relax, *this; }
    const pointsman_request *raw() const noexcept { return &raw_; }

private:
    pointsman_request raw_ = POINTSMAN_REQUEST_INIT;
};

} // namespace pointsman

#endif /* POINTSMAN_VALUES_HPP */
