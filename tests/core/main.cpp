// The core's own test program: everything in csrc/include without Python.
//
//     core [--brief] [--folder FOLDER] [--highs LIBRARY] [NAME ...]
//
// runs all tests, or those named. It fails where one does. Linear programs are solved where it is told where HiGHS is:
// the path of its shared library, here or in OCPFAST_TEST_HIGHS.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "ocpfast/lp/highs_library.hpp"

namespace core {

void fail(const char* file, int line, const std::string& what) {
    std::printf("%s:%d: %s\n", file, line, what.c_str());
    throw Failed();
}

}  // namespace core

namespace {

bool passes(const core::Test& test) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t before = core::n_checks();
    bool passed = true;
    try {
        test.run();
    } catch (const core::Failed&) {
        passed = false;
    } catch (const std::exception& error) {
        std::printf("it threw: %s\n", error.what());
        passed = false;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%-6s %-48s %9lld cases %6.2f s\n", passed ? "passed" : "FAILED", test.name,
                static_cast<long long>(core::n_checks() - before), seconds.count());
    std::fflush(stdout);
    return passed;
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::string> wanted;
    const char* library = std::getenv("OCPFAST_TEST_HIGHS");
    for (int i = 1; i < count; ++i) {
        const bool more = i + 1 < count;
        if (std::strcmp(arguments[i], "--brief") == 0) {
            core::settings().brief = true;
        } else if (std::strcmp(arguments[i], "--folder") == 0 && more) {
            core::settings().folder = arguments[++i];
        } else if (std::strcmp(arguments[i], "--highs") == 0 && more) {
            library = arguments[++i];
        } else if (arguments[i][0] == '-') {
            std::fprintf(stderr, "usage: %s [--brief] [--folder FOLDER] [--highs LIBRARY] [NAME ...]\n", arguments[0]);
            return 2;
        } else {
            wanted.emplace_back(arguments[i]);
        }
    }
    ocp::HighsApi highs{};
    if (library != nullptr && *library != '\0') {
        try {
            highs = ocp::load_highs(library);
        } catch (const std::runtime_error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            return 2;
        }
        core::settings().highs = &highs;
    }

    int n_passed = 0, n_failed = 0;
    std::size_t n_found = 0;
    for (const core::Test& test : core::tests()) {
        bool chosen = wanted.empty();
        for (const std::string& name : wanted) chosen |= name == test.name;
        if (!chosen) continue;
        ++n_found;
        passes(test) ? ++n_passed : ++n_failed;
    }
    if (n_found < wanted.size()) {
        std::fprintf(stderr, "no test of such a name\n");
        return 2;
    }
    std::printf("%lld cases, HiGHS %s\n", static_cast<long long>(core::n_checks()),
                core::settings().highs == nullptr ? "not there" : library);
    std::printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}
