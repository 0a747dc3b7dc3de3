/* The C++ wrapper, with and without exceptions. */

#include "check.h"

#include <array>
#include <pointsman.hpp>
#include <string>
#include <vector>

static_assert(!std::is_copy_constructible_v<pointsman::pool> && std::is_nothrow_move_constructible_v<pointsman::pool>);
static_assert(sizeof(pointsman::route) == sizeof(void *));
static_assert(noexcept(std::declval<pointsman::route &>().pick(std::declval<pointsman::error &>())));

static const char match[] = R"({"policy": "weighted_random", "tiers": [{"match": ["version"]}, {}], "counters": true})";

static std::vector<pointsman::instance> three()
{
    static const std::array<pointsman::tag, 1> gray{{{"version", "gray"}}};
    static const std::string third = "c:1";
    std::vector<pointsman::instance> list;
    list.push_back(pointsman::instance("a:1").weight(8).user_data(std::uint64_t{10}));
    list.push_back(pointsman::instance("b:1").id("b").tags(gray).zone("z1").user_data(std::uint64_t{11}));
    list.push_back(pointsman::instance(third).healthy(false).enabled(true).load(0.5).max_in_flight(3));
    return list;
}

static void without_exceptions()
{
    pointsman::error error;
    auto pool = pointsman::pool::make(three(), nullptr, error);
    CHECK(!error && pool && pool.size(error) == 3);
    auto route = pool.route(match, error);
    CHECK(!error && route);
    CHECK(!pool.route("{}", error) && error && error.code() == POINTSMAN_BAD_SPEC);

    auto pick = route.pick(pointsman::request().tags({{"version", "gray"}}), error);
    CHECK(!error && pick.user_data == 11 && pick.tier == 0);
    pick = route.pick(pointsman::request().exclude({"a:1", std::string("b")}), error);
    CHECK(error.code() == POINTSMAN_EXCLUDED && error.is_no_instance() && pick.user_data == 0);
    pick = route.pick(error);
    CHECK(!error && error.message() != "");
    std::vector<pointsman::tag> needs{{"version", "gray"}};
    pick = route.pick(pointsman::request().require(needs).key("k").relax(), error);
    CHECK(!error && pick.user_data == 11);
    pick = route.pick(pointsman::request().prefer("b"), error);
    CHECK(!error && pick.user_data == 11);
    pointsman_pick picks[4];
    CHECK(route.pick_distinct({}, picks, 4, error) == 2 && !error);

    auto edit = pointsman::edit::make(error);
    edit.set_weight("a:1", -1, error);
    CHECK(error.code() == POINTSMAN_BAD_VALUE && error.field() == "weight");
    edit.set_weight("a:1", 4, error);
    edit.set_healthy("c:1", true, error);
    edit.set_enabled("c:1", true, error);
    edit.set_no_zone("b", error);
    edit.set_tags("a:1", needs, error);
    edit.upsert(pointsman::instance("d:1"), error);
    edit.remove("d:1", error);
    CHECK(pool.commit(edit, error) == 2 && !error);

    auto picker = route.picker_seeded(3, error);
    picker.start_at(0, error);
    pick = picker.pick(error);
    CHECK(!error && !picker.address(0, error).empty() && !error);
    picker.refresh(error);
    picker.rest(error);
    CHECK(picker.id(0, error).empty() && error.code() == POINTSMAN_NOT_FOUND);
    auto lease = picker.lease({}, error);
    CHECK(!error && lease);
    lease.done(99, POINTSMAN_NO_LATENCY, error);
    CHECK(error.code() == POINTSMAN_BAD_ENUM && lease);
    CHECK(!lease.address(error).empty() && !lease.id(error).empty() && lease.pick(error).version == 2);
    lease.done(POINTSMAN_OUTCOME_SUCCESS, 5, error);
    CHECK(!error && !lease);
    auto other = std::move(picker);
    CHECK(!picker && other); // NOLINT: an empty handle is what is asked for
    picker.pick(error);
    CHECK(error.code() == POINTSMAN_NULL);

    auto found = pointsman::discovery::parse(R"([{"address": "x:1"}])", nullptr, error);
    CHECK(!error && found.size(error) == 1 && found.address(0, error) == "x:1");
    found.set_user_data(0, 7, error);
    CHECK(pool.replace(found, error) == 3 && !error);
    CHECK(route.shares({}, error).view() == R"([{"id":"x:1","share":1.0}])");
    pool.report_load("x:1", 1, error);
    pool.tick(error);
    CHECK(!error && !pool.tick_due(error));
    CHECK(pool.status(error).view().find("\"stale\"") != std::string_view::npos);
}

#if POINTSMAN_EXCEPTIONS
static void with_exceptions()
{
    auto pool = pointsman::pool::make({pointsman::instance("a:1"), pointsman::instance("b:1").zone("")});
    auto route = pool.route(match);
    CHECK(route.pick().version == 1);
    CHECK(route.tier_name(0, 0).empty());
    try {
        route.pick(pointsman::request().require({{"no", "such"}}));
        CHECK(!"unreachable");
    } catch (const pointsman::exception &thrown) {
        CHECK(thrown.error().code() == POINTSMAN_NO_MATCH && std::string(thrown.what()).find("matches") != std::string::npos);
    }
    auto lease = route.lease();
    CHECK(lease.zone().empty());
    lease.done(POINTSMAN_OUTCOME_FAILURE);
    auto picker = route.picker();
    picker.pick();
    CHECK(picker.id().size() == 3);
    std::vector<pointsman::instance> none;
    CHECK(pool.replace(none) == 2 && pool.size() == 0);
    CHECK(pool.make(pointsman::discovery::parse("[]")).size() == 0);
    try {
        pool.replace({pointsman::instance("a:1"), pointsman::instance("b:1").weight(-1)});
        CHECK(!"unreachable");
    } catch (const pointsman::exception &thrown) {
        CHECK(thrown.error().index() == 1 && thrown.error().field() == "weight");
    }
}
#endif

int main()
{
    without_exceptions();
#if POINTSMAN_EXCEPTIONS
    with_exceptions();
#endif
    return 0;
}
