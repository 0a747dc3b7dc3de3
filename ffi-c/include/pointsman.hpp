/**
 * @file pointsman.hpp
 * pointsman for C++17: handles that free themselves, over the calls of pointsman.h.
 *
 * - Handles move and do not copy. An empty one was moved from, or came of a call that failed.
 * - Each call comes twice, as in std::filesystem: one throws `pointsman::exception`, the other is noexcept and takes a
 *   `pointsman::error &` last, which tells whether it failed; its value is empty then. Without exceptions the first vanish.
 * - Texts are std::string_view and are copied where they are kept. Lists are anything with std::data and std::size, or `{...}`.
 * - Views that a call returns live as long as the function of pointsman.h says.
 */
#ifndef POINTSMAN_HPP
#define POINTSMAN_HPP

#include <pointsman.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

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

/** The instances that a registry's document gave. */
class discovery : public detail::handle<pointsman_discovery, pointsman_discovery_free> {
public:
    using handle::handle;
    static discovery parse(std::string_view document, const pointsman_discovery_options *options, error &e) noexcept
    {
        return detail::made<discovery, pointsman_discovery>(
            e, [&](auto *out) { return pointsman_discovery_parse(str(document), options, out, e.raw()); });
    }
    std::size_t size(error &e) const noexcept
    {
        return detail::filled<std::size_t>(e, [&](auto *out) { return pointsman_discovery_len(raw(), out, e.raw()); });
    }
    std::string_view id(std::size_t index, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_discovery_id(raw(), index, out, e.raw()); }));
    }
    std::string_view address(std::size_t index, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_discovery_address(raw(), index, out, e.raw()); }));
    }
    void set_user_data(std::size_t index, std::uint64_t value, error &e) noexcept
    {
        e.take(pointsman_discovery_set_user_data(raw(), index, value, e.raw()));
    }
    string report(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_discovery_report(raw(), out, e.raw()); });
    }
    string instances(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_discovery_instances(raw(), out, e.raw()); });
    }
#if POINTSMAN_EXCEPTIONS
    static discovery parse(std::string_view document, const pointsman_discovery_options *options = nullptr)
        POINTSMAN_THROWING(parse(document, options, e))
    std::size_t size() const POINTSMAN_THROWING(size(e))
    std::string_view id(std::size_t index) const POINTSMAN_THROWING(id(index, e))
    std::string_view address(std::size_t index) const POINTSMAN_THROWING(address(index, e))
    void set_user_data(std::size_t index, std::uint64_t value) POINTSMAN_THROWING(set_user_data(index, value, e))
    string report() const POINTSMAN_THROWING(report(e))
    string instances() const POINTSMAN_THROWING(instances(e))
#endif
};

/** A pick that is held until the request ends. Without `done` it ends as cancelled. */
class lease : public detail::handle<pointsman_lease, pointsman_lease_free> {
public:
    using handle::handle;
    /** Ends the request. On an error the lease is as it was. */
    void done(pointsman_outcome outcome, std::uint64_t latency_ns, error &e) noexcept
    {
        if (e.take(pointsman_lease_done(raw(), outcome, latency_ns, e.raw())))
            release();
    }
    /** The same at a given time, in nanoseconds since the pool was made. */
    void done_at(pointsman_outcome outcome, std::uint64_t latency_ns, std::uint64_t now_ns, error &e) noexcept
    {
        if (e.take(pointsman_lease_done_at(raw(), outcome, latency_ns, now_ns, e.raw())))
            release();
    }
    pointsman::pick pick(error &e) const noexcept
    {
        return detail::filled<pointsman_pick>(e, [&](auto *out) { return pointsman_lease_pick(raw(), out, e.raw()); });
    }
    std::string_view id(error &e) const noexcept
    {
        return view(
            detail::filled<pointsman_str>(e, [&](auto *out) { return pointsman_lease_id(raw(), out, e.raw()); }));
    }
    std::string_view address(error &e) const noexcept
    {
        return view(
            detail::filled<pointsman_str>(e, [&](auto *out) { return pointsman_lease_address(raw(), out, e.raw()); }));
    }
    /** A view without data where there is no zone. */
    std::string_view zone(error &e) const noexcept
    {
        return view(
            detail::filled<pointsman_str>(e, [&](auto *out) { return pointsman_lease_zone(raw(), out, e.raw()); }));
    }
    std::string_view tag(std::string_view key, std::size_t nth, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_lease_tag(raw(), str(key), nth, out, e.raw()); }));
    }
#if POINTSMAN_EXCEPTIONS
    void done(pointsman_outcome outcome, std::uint64_t latency_ns = POINTSMAN_NO_LATENCY)
        POINTSMAN_THROWING(done(outcome, latency_ns, e))
    void done_at(pointsman_outcome outcome, std::uint64_t latency_ns, std::uint64_t now_ns)
        POINTSMAN_THROWING(done_at(outcome, latency_ns, now_ns, e))
    pointsman::pick pick() const POINTSMAN_THROWING(pick(e))
    std::string_view id() const POINTSMAN_THROWING(id(e))
    std::string_view address() const POINTSMAN_THROWING(address(e))
    std::string_view zone() const POINTSMAN_THROWING(zone(e))
    std::string_view tag(std::string_view key, std::size_t nth = 0) const POINTSMAN_THROWING(tag(key, nth, e))
#endif
};

/** One thread's private hand. */
class picker : public detail::handle<pointsman_picker, pointsman_picker_free> {
public:
    using handle::handle;
    pointsman::pick pick(const request &request, error &e) noexcept
    {
        return detail::filled<pointsman_pick>(
            e, [&](auto *out) { return pointsman_picker_pick(raw(), request.raw(), out, e.raw()); });
    }
    pointsman::pick pick(error &e) noexcept
    {
        return detail::filled<pointsman_pick>(
            e, [&](auto *out) { return pointsman_picker_pick(raw(), nullptr, out, e.raw()); });
    }
    /** Fills the picks, and returns how many there are. */
    std::size_t pick_distinct(const request &request, pointsman_pick *picks, std::size_t room, error &e) noexcept
    {
        return detail::filled<std::size_t>(e, [&](auto *out) {
            return pointsman_picker_pick_distinct(raw(), request.raw(), picks, room, out, e.raw());
        });
    }
    std::string_view id(std::size_t nth, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_picker_id(raw(), nth, out, e.raw()); }));
    }
    std::string_view address(std::size_t nth, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_picker_address(raw(), nth, out, e.raw()); }));
    }
    pointsman::lease lease(const request &request, error &e) noexcept
    {
        return detail::made<pointsman::lease, pointsman_lease>(
            e, [&](auto *out) { return pointsman_picker_lease(raw(), request.raw(), out, e.raw()); });
    }
    void start_at(std::uint64_t turn, error &e) noexcept { e.take(pointsman_picker_start_at(raw(), turn, e.raw())); }
    void refresh(error &e) noexcept { e.take(pointsman_picker_refresh(raw(), e.raw())); }
    void rest(error &e) noexcept { e.take(pointsman_picker_rest(raw(), e.raw())); }
#if POINTSMAN_EXCEPTIONS
    pointsman::pick pick(const request &request) POINTSMAN_THROWING(pick(request, e))
    pointsman::pick pick() POINTSMAN_THROWING(pick(e))
    std::size_t pick_distinct(const request &request, pointsman_pick *picks, std::size_t room)
        POINTSMAN_THROWING(pick_distinct(request, picks, room, e))
    std::string_view id(std::size_t nth = 0) const POINTSMAN_THROWING(id(nth, e))
    std::string_view address(std::size_t nth = 0) const POINTSMAN_THROWING(address(nth, e))
    pointsman::lease lease(const request &request = {}) POINTSMAN_THROWING(lease(request, e))
    void start_at(std::uint64_t turn) POINTSMAN_THROWING(start_at(turn, e))
    void refresh() POINTSMAN_THROWING(refresh(e))
    void rest() POINTSMAN_THROWING(rest(e))
#endif
};

/** A way to choose. */
class route : public detail::handle<pointsman_route, pointsman_route_free> {
public:
    using handle::handle;
    pointsman::pick pick(const request &request, error &e) const noexcept
    {
        return detail::filled<pointsman_pick>(
            e, [&](auto *out) { return pointsman_route_pick(raw(), request.raw(), out, e.raw()); });
    }
    pointsman::pick pick(error &e) const noexcept
    {
        return detail::filled<pointsman_pick>(
            e, [&](auto *out) { return pointsman_route_pick(raw(), nullptr, out, e.raw()); });
    }
    /** Fills the picks, and returns how many there are. */
    std::size_t pick_distinct(const request &request, pointsman_pick *picks, std::size_t room, error &e) const noexcept
    {
        return detail::filled<std::size_t>(e, [&](auto *out) {
            return pointsman_route_pick_distinct(raw(), request.raw(), picks, room, out, e.raw());
        });
    }
    pointsman::lease lease(const request &request, error &e) const noexcept
    {
        return detail::made<pointsman::lease, pointsman_lease>(
            e, [&](auto *out) { return pointsman_route_lease(raw(), request.raw(), out, e.raw()); });
    }
    pointsman::picker picker(error &e) const noexcept
    {
        return detail::made<pointsman::picker, pointsman_picker>(
            e, [&](auto *out) { return pointsman_picker_new(raw(), out, e.raw()); });
    }
    pointsman::picker picker_seeded(std::uint64_t seed, error &e) const noexcept
    {
        return detail::made<pointsman::picker, pointsman_picker>(
            e, [&](auto *out) { return pointsman_picker_new_seeded(raw(), seed, out, e.raw()); });
    }
    string explain(const request &request, error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_route_explain(raw(), request.raw(), out, e.raw()); });
    }
    string shares(const request &request, error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_route_shares(raw(), request.raw(), out, e.raw()); });
    }
    string counters(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_route_counters(raw(), out, e.raw()); });
    }
    string spec(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_route_spec(raw(), out, e.raw()); });
    }
    std::string_view tier_name(std::size_t branch, std::size_t tier, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_route_tier_name(raw(), branch, tier, out, e.raw()); }));
    }
    std::string_view branch_name(std::size_t branch, error &e) const noexcept
    {
        return view(detail::filled<pointsman_str>(
            e, [&](auto *out) { return pointsman_route_branch_name(raw(), branch, out, e.raw()); }));
    }
    void start_at(std::uint64_t turn, error &e) const noexcept { e.take(pointsman_route_start_at(raw(), turn, e.raw())); }
#if POINTSMAN_EXCEPTIONS
    pointsman::pick pick(const request &request) const POINTSMAN_THROWING(pick(request, e))
    pointsman::pick pick() const POINTSMAN_THROWING(pick(e))
    std::size_t pick_distinct(const request &request, pointsman_pick *picks, std::size_t room) const
        POINTSMAN_THROWING(pick_distinct(request, picks, room, e))
    pointsman::lease lease(const request &request = {}) const POINTSMAN_THROWING(lease(request, e))
    pointsman::picker picker() const POINTSMAN_THROWING(picker(e))
    pointsman::picker picker_seeded(std::uint64_t seed) const POINTSMAN_THROWING(picker_seeded(seed, e))
    string explain(const request &request = {}) const POINTSMAN_THROWING(explain(request, e))
    string shares(const request &request = {}) const POINTSMAN_THROWING(shares(request, e))
    string counters() const POINTSMAN_THROWING(counters(e))
    string spec() const POINTSMAN_THROWING(spec(e))
    std::string_view tier_name(std::size_t branch, std::size_t tier) const POINTSMAN_THROWING(tier_name(branch, tier, e))
    std::string_view branch_name(std::size_t branch) const POINTSMAN_THROWING(branch_name(branch, e))
    void start_at(std::uint64_t turn) const POINTSMAN_THROWING(start_at(turn, e))
#endif
};

/** Changes of a pool that are committed together. */
class edit : public detail::handle<pointsman_edit, pointsman_edit_free> {
public:
    using handle::handle;
    static edit make(error &e) noexcept
    {
        return detail::made<edit, pointsman_edit>(e, [&](auto *out) { return pointsman_edit_new(out, e.raw()); });
    }
    void upsert(const instance &i, error &e) noexcept { e.take(pointsman_edit_upsert(raw(), i.raw(), e.raw())); }
    void remove(str id, error &e) noexcept { e.take(pointsman_edit_remove(raw(), id, e.raw())); }
    void set_weight(str id, double w, error &e) noexcept { e.take(pointsman_edit_set_weight(raw(), id, w, e.raw())); }
    void set_healthy(str id, bool is, error &e) noexcept { e.take(pointsman_edit_set_healthy(raw(), id, is, e.raw())); }
    void set_enabled(str id, bool is, error &e) noexcept { e.take(pointsman_edit_set_enabled(raw(), id, is, e.raw())); }
    void set_zone(str id, str zone, error &e) noexcept { e.take(pointsman_edit_set_zone(raw(), id, zone, e.raw())); }
    void set_no_zone(str id, error &e) noexcept { e.take(pointsman_edit_set_zone(raw(), id, {nullptr, 0}, e.raw())); }
    template <class Tags>
    void set_tags(str id, const Tags &tags, error &e) noexcept
    {
        const tag *first = std::data(tags);
        e.take(pointsman_edit_set_tags(raw(), id, first, std::size(tags), e.raw()));
    }
#if POINTSMAN_EXCEPTIONS
    static edit make() POINTSMAN_THROWING(make(e))
    void upsert(const instance &instance) POINTSMAN_THROWING(upsert(instance, e))
    void remove(str id) POINTSMAN_THROWING(remove(id, e))
    void set_weight(str id, double weight) POINTSMAN_THROWING(set_weight(id, weight, e))
    void set_healthy(str id, bool healthy) POINTSMAN_THROWING(set_healthy(id, healthy, e))
    void set_enabled(str id, bool enabled) POINTSMAN_THROWING(set_enabled(id, enabled, e))
    void set_zone(str id, str zone) POINTSMAN_THROWING(set_zone(id, zone, e))
    void set_no_zone(str id) POINTSMAN_THROWING(set_no_zone(id, e))
    template <class Tags>
    void set_tags(str id, const Tags &tags) POINTSMAN_THROWING(set_tags(id, tags, e))
#endif
};

/** The instances of one service, and what is known of them. */
class pool : public detail::handle<pointsman_pool, pointsman_pool_free> {
public:
    using handle::handle;
    template <class Instances>
    static pool make(const Instances &list, const pointsman_pool_options *options, error &e) noexcept
    {
        return detail::made<pool, pointsman_pool>(
            e, [&](auto *out) { return pointsman_pool_new(options, first(list), std::size(list), out, e.raw()); });
    }
    static pool make(const discovery &found, const pointsman_pool_options *options, error &e) noexcept
    {
        return detail::made<pool, pointsman_pool>(
            e, [&](auto *out) { return pointsman_pool_new_discovered(options, found.raw(), out, e.raw()); });
    }
    /** Returns the version in force, as do the other updates. */
    template <class Instances>
    std::uint64_t replace(const Instances &list, error &e) noexcept
    {
        return detail::filled<std::uint64_t>(
            e, [&](auto *out) { return pointsman_pool_replace(raw(), first(list), std::size(list), out, e.raw()); });
    }
    std::uint64_t replace(const discovery &found, error &e) noexcept
    {
        return detail::filled<std::uint64_t>(
            e, [&](auto *out) { return pointsman_pool_replace_discovered(raw(), found.raw(), out, e.raw()); });
    }
    std::uint64_t commit(edit &edit, error &e) noexcept
    {
        return detail::filled<std::uint64_t>(
            e, [&](auto *out) { return pointsman_pool_commit(raw(), edit.raw(), out, e.raw()); });
    }
    pointsman::route route(std::string_view spec, error &e) noexcept
    {
        return detail::made<pointsman::route, pointsman_route>(
            e, [&](auto *out) { return pointsman_route_new(raw(), str(spec), out, e.raw()); });
    }
    std::uint64_t version(error &e) const noexcept
    {
        return detail::filled<std::uint64_t>(e, [&](auto *out) { return pointsman_pool_version(raw(), out, e.raw()); });
    }
    std::size_t size(error &e) const noexcept
    {
        return detail::filled<std::size_t>(e, [&](auto *out) { return pointsman_pool_len(raw(), out, e.raw()); });
    }
    std::size_t retired(error &e) const noexcept
    {
        return detail::filled<std::size_t>(e, [&](auto *out) { return pointsman_pool_retired(raw(), out, e.raw()); });
    }
    string instances(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_pool_instances(raw(), out, e.raw()); });
    }
    string get(std::string_view id, error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_pool_instance(raw(), str(id), out, e.raw()); });
    }
    string status(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_pool_status(raw(), out, e.raw()); });
    }
    string spec(error &e) const noexcept
    {
        return detail::made<string, pointsman_string>(
            e, [&](auto *out) { return pointsman_pool_spec(raw(), out, e.raw()); });
    }
    void report_load(str id, double load, error &e) noexcept
    {
        e.take(pointsman_pool_report_load(raw(), id, load, e.raw()));
    }
    void report_load_at(str id, double load, std::uint64_t now_ns, error &e) noexcept
    {
        e.take(pointsman_pool_report_load_at(raw(), id, load, now_ns, e.raw()));
    }
    /** Ids and their loads, all or none; both lists have one length. */
    template <class Ids, class Loads>
    void report_loads(const Ids &ids, const Loads &loads, error &e) noexcept
    {
        const str *first = std::data(ids);
        const double *load = std::data(loads);
        const std::size_t count = std::size(ids) < std::size(loads) ? std::size(ids) : std::size(loads);
        e.take(pointsman_pool_report_loads(raw(), first, load, count, e.raw()));
    }
    /** Nanoseconds until the pool next has work, or POINTSMAN_NEVER. */
    std::uint64_t tick(error &e) noexcept
    {
        return detail::filled<std::uint64_t>(e, [&](auto *out) { return pointsman_pool_tick(raw(), out, e.raw()); });
    }
    std::uint64_t tick_at(std::uint64_t now_ns, error &e) noexcept
    {
        return detail::filled<std::uint64_t>(
            e, [&](auto *out) { return pointsman_pool_tick_at(raw(), now_ns, out, e.raw()); });
    }
    bool tick_due(error &e) const noexcept
    {
        return detail::filled<bool>(e, [&](auto *out) { return pointsman_pool_tick_due(raw(), out, e.raw()); });
    }
#if POINTSMAN_EXCEPTIONS
    template <class Instances>
    static pool make(const Instances &list, const pointsman_pool_options *options = nullptr)
        POINTSMAN_THROWING(make(list, options, e))
    static pool make(std::initializer_list<instance> list, const pointsman_pool_options *options = nullptr)
        POINTSMAN_THROWING(make(list, options, e))
    template <class Instances>
    std::uint64_t replace(const Instances &list) POINTSMAN_THROWING(replace(list, e))
    std::uint64_t replace(std::initializer_list<instance> list) POINTSMAN_THROWING(replace(list, e))
    std::uint64_t commit(edit &edit) POINTSMAN_THROWING(commit(edit, e))
    pointsman::route route(std::string_view spec) POINTSMAN_THROWING(route(spec, e))
    std::uint64_t version() const POINTSMAN_THROWING(version(e))
    std::size_t size() const POINTSMAN_THROWING(size(e))
    std::size_t retired() const POINTSMAN_THROWING(retired(e))
    string instances() const POINTSMAN_THROWING(instances(e))
    string get(std::string_view id) const POINTSMAN_THROWING(get(id, e))
    string status() const POINTSMAN_THROWING(status(e))
    string spec() const POINTSMAN_THROWING(spec(e))
    void report_load(str id, double load) POINTSMAN_THROWING(report_load(id, load, e))
    void report_load_at(str id, double load, std::uint64_t now_ns) POINTSMAN_THROWING(report_load_at(id, load, now_ns, e))
    template <class Ids, class Loads>
    void report_loads(const Ids &ids, const Loads &loads) POINTSMAN_THROWING(report_loads(ids, loads, e))
    std::uint64_t tick() POINTSMAN_THROWING(tick(e))
    std::uint64_t tick_at(std::uint64_t now_ns) POINTSMAN_THROWING(tick_at(now_ns, e))
    bool tick_due() const POINTSMAN_THROWING(tick_due(e))
#endif

private:
    template <class Instances>
    static const pointsman_instance *first(const Instances &list) noexcept
    {
        const instance *first = std::data(list);
        return reinterpret_cast<const pointsman_instance *>(first);
    }
};

#if POINTSMAN_EXCEPTIONS
#undef POINTSMAN_THROWING
#endif

} // namespace pointsman

#endif /* POINTSMAN_HPP */
