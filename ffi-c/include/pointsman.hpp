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

#include <pointsman/error.hpp>
#include <pointsman/handle.hpp>
#include <pointsman/pool.hpp>
#include <pointsman/route.hpp>
#include <pointsman/values.hpp>

#if POINTSMAN_EXCEPTIONS
#undef POINTSMAN_THROWING
#endif

#endif /* POINTSMAN_HPP */
