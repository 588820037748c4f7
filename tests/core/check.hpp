// What the tests of the core share: a list of tests, a check that counts, how much to do.
//
//     TEST(name) { ... CHECK(holds); ... }
//
// A check that fails ends its test, with where it stands and what was to hold.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "ocpfast/lp/highs_api.hpp"

namespace core {

struct Test {
    const char* name;
    void (*run)();
};

// In the order in which they register themselves.
inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Registered {
    Registered(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

// What the command line asks for.
struct Settings {
    bool brief = false;                    // a twentieth of the cases: for valgrind
    std::string folder = ".";              // for files
    const ocp::HighsApi* highs = nullptr;  // NULL: what needs it is left out
};
inline Settings& settings() {
    static Settings all;
    return all;
}

// How many of so many cases are to be done.
inline int cases(int n) {
    return settings().brief ? (n + 19) / 20 : n;
}

struct Failed : std::exception {};

inline std::int64_t& n_checks() {
    static std::int64_t n = 0;
    return n;
}

// In main.cpp; throws Failed.
[[noreturn]] void fail(const char* file, int line, const std::string& what);

}  // namespace core

#define TEST(name)                                                \
    static void name();                                           \
    static const core::Registered name##_registered(#name, name); \
    static void name()

#define CHECK(...)                                                                    \
    do {                                                                              \
        ++core::n_checks();                                                           \
        if (!(__VA_ARGS__)) core::fail(__FILE__, __LINE__, "expected " #__VA_ARGS__); \
    } while (false)

// That an expression throws this, with these words in what it says.
#define CHECK_THROWS(Error, words, ...)                                                                                \
    do {                                                                                                               \
        ++core::n_checks();                                                                                            \
        std::string said_ = "nothing";                                                                                 \
        try {                                                                                                          \
            (void)(__VA_ARGS__);                                                                                       \
        } catch (const Error& error_) {                                                                                \
            said_ = error_.what();                                                                                     \
        }                                                                                                              \
        if (said_.find(words) == std::string::npos) {                                                                  \
            core::fail(__FILE__, __LINE__, "expected " #Error " of " #__VA_ARGS__ " to say " #words ", got " + said_); \
        }                                                                                                              \
    } while (false)
