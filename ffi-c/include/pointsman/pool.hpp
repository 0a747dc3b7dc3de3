/**
 * @file pool.hpp
 * Discovery documents, edits and pools. A part of pointsman.hpp, which is the header to include.
 */
#ifndef POINTSMAN_POOL_HPP
#define POINTSMAN_POOL_HPP

#include <pointsman/handle.hpp>
#include <pointsman/route.hpp>
#include <pointsman/values.hpp>

namespace pointsman {

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

} // namespace pointsman

#endif /* POINTSMAN_POOL_HPP */
