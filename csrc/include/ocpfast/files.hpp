// Files that are complete or not there, whatever happens to the process or the machine; ocpfast/files.py says how.
//
// A process that is killed while it writes leaves .ocpfast-*.part beside the target. The writer's lock (flock) is gone
// with it: whoever next writes into that directory, in Python or C++, removes what nobody holds a lock on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#if !defined(_WIN32)
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace ocp {

[[noreturn]] inline void throw_file_error(const std::string& path, int error = errno) {
    throw std::system_error(error, std::generic_category(), path);
}

inline std::string read_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (file == nullptr) throw_file_error(path);
    std::string content;
    char buffer[1 << 14];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) content.append(buffer, n);
    if (std::ferror(file.get()) != 0) throw_file_error(path);
    return content;
}

// Nobody else's: other threads, processes and machines may write to the same place.
inline std::string name_beside(const std::string& directory) {
    static std::atomic<std::uint64_t> n_written{0};
    std::random_device random;
    std::string name = directory + ".ocpfast-";
    for (int i = 0; i < 2; ++i) name += std::to_string(random()) + "-";
    return name + std::to_string(n_written++) + ".part";
}

#if defined(_WIN32)

// There are neither such locks nor directories that can be opened: nothing is removed.
inline void write_atomically(const std::string& path, std::string_view content) {
    const std::string beside = name_beside(path.substr(0, path.find_last_of("/\\") + 1));
    std::FILE* const file = std::fopen(beside.c_str(), "wb");
    if (file == nullptr) throw_file_error(path);
    bool good = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    good = std::fclose(file) == 0 && good;
    if (good && std::rename(beside.c_str(), path.c_str()) == 0) return;
    const int error = errno;
    std::remove(beside.c_str());
    throw_file_error(path, error);
}

#else

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int operator*() const { return number_; }

private:
    int number_;
};

// What processes that were killed left in a directory ("" or one that ends with a slash).
inline void remove_left_over(const std::string& directory) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.empty() ? "." : directory.c_str()),
                                                      &::closedir);
    if (listing == nullptr) return;
    while (const dirent* const entry = ::readdir(listing.get())) {
        constexpr std::string_view prefix = ".ocpfast-", suffix = ".part";
        const std::string_view name = entry->d_name;
        if (name.size() < prefix.size() + suffix.size() || name.substr(0, prefix.size()) != prefix) continue;
        if (name.substr(name.size() - suffix.size()) != suffix) continue;
        const std::string path = directory + entry->d_name;
        const Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat status;
        if (*file < 0 || ::fstat(*file, &status) != 0 || !S_ISREG(status.st_mode)) continue;
        if (::flock(*file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    }
}

// Writes it all, and to the disk; 0 or what went wrong.
inline int write_all(int file, std::string_view content) {
    while (!content.empty()) {
        // macOS refuses more than 2 GiB at once
        const ssize_t written = ::write(file, content.data(), std::min(content.size(), std::size_t{1} << 30));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::fsync(file) == 0 ? 0 : errno;
}

inline void write_atomically(const std::string& path, std::string_view content) {
    const std::string directory = path.substr(0, path.find_last_of('/') + 1);
    remove_left_over(directory);  // before, as the disk may be full of them
    for (int attempt = 1;; ++attempt) {
        const std::string beside = name_beside(directory);
        const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (*file < 0) throw_file_error(path);
        while (::flock(*file, LOCK_EX) != 0 && errno == EINTR) {
        }  // other errors: a file system without locks, where nobody removes anything
        struct stat status;  // without a link it was taken for left over before that; or nothing has links here
        if (attempt < 100 && ::fstat(*file, &status) == 0 && status.st_nlink == 0) continue;
        int error = write_all(*file, content);
        if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
        if (error != 0) {
            ::unlink(beside.c_str());
            throw_file_error(path, error);
        }
        break;
    }
    // the renaming, too; where a directory may be written to but not read, or knows no such thing, that is that
    const Descriptor opened(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (*opened >= 0 && ::fsync(*opened) != 0 && errno != EINVAL) throw_file_error(path);
}

#endif

}  // namespace ocp
