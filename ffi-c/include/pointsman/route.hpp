/**
 * @file route.hpp
 * Routes, pickers and leases. A part of pointsman.hpp, which is the header to include.
 */
#ifndef POINTSMAN_ROUTE_HPP
#define POINTSMAN_ROUTE_HPP

#include <pointsman/handle.hpp>
#include <pointsman/values.hpp>

namespace pointsman {

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

} // namespace pointsman

#endif /* POINTSMAN_ROUTE_HPP */
