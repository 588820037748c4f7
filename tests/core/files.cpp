// Files that are complete or not there, and what is removed beside them. Kills and full disks: test_faults_files.py.
#include "ocpfast/files.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "check.hpp"

#if !defined(_WIN32)

namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

}  // namespace

TEST(files_left_behind) {
    const fs::path folder = fs::path(core::settings().folder) / "files";
    fs::create_directory(folder);
    const auto at = [&](const char* name) { return (folder / name).string(); };
    ocp::write_atomically(at(".ocpfast-left.part"), "by a writer that is dead");
    ocp::write_atomically(at(".ocpfast-mine"), "somebody's");
    fs::create_directory(folder / ".ocpfast-folder.part");
    fs::create_symlink(".ocpfast-mine", folder / ".ocpfast-link.part");
    std::set<std::string> expected = {".ocpfast-mine", ".ocpfast-folder.part", ".ocpfast-link.part", "file"};
    {
        const ocp::Descriptor writer(::open(at(".ocpfast-locked.part").c_str(), O_WRONLY | O_CREAT, 0666));
        CHECK(::flock(*writer, LOCK_EX) == 0);
        ocp::write_atomically(at("file"), "content");
        expected.insert(".ocpfast-locked.part");
        CHECK(names_in(folder) == expected);
    }
    ocp::write_atomically(at("file"), "other content");
    expected.erase(".ocpfast-locked.part");
    CHECK(names_in(folder) == expected);
    CHECK(ocp::read_file(at("file")) == "other content");

    // nothing is left beside what cannot be replaced
    fs::create_directory(folder / "taken");
    expected.insert("taken");
    CHECK_THROWS(std::system_error, "taken", ocp::write_atomically(at("taken"), "content"));
    CHECK(names_in(folder) == expected);
    fs::remove_all(folder);
}

#endif
