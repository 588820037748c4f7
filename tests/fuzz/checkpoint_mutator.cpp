// Mutations of checkpoint files that get past their checksums: of the header's text, its numbers and names, and of the
// bytes behind it; lengths and checksums are then put right. One in sixteen stays as bytes are changed blindly.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ocpfast/archive.hpp"
#include "ocpfast/json.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Random = std::minstd_rand;
constexpr std::string_view magic("\x89OCPFAST", 8);
constexpr std::size_t start_size = 8 + 4 + 8 + 8, checksum_size = 4;

struct File {
    std::string header;  // JSON, if nothing has happened to it
    std::vector<std::string> blobs;
    std::size_t state = 0;  // which of them is what was learned
};

std::optional<File> taken_apart(std::string_view bytes) {
    if (bytes.size() < start_size + checksum_size || bytes.substr(0, magic.size()) != magic) return std::nullopt;
    std::uint64_t header_length = 0;
    ocp::ArchiveReader(bytes.substr(20))(header_length);
    bytes.remove_suffix(checksum_size);
    if (header_length > bytes.size() - start_size) return std::nullopt;
    File file;
    file.header = bytes.substr(start_size, header_length);
    bytes.remove_prefix(start_size + header_length);
    try {
        const ocp::Json header = ocp::Json::parse(file.header);
        for (const ocp::Json& size : header.at("blobs").items()) {
            const std::size_t n = std::min(static_cast<std::size_t>(size.integer()), bytes.size());
            file.blobs.emplace_back(bytes.substr(0, n));
            bytes.remove_prefix(n);
        }
        file.state = static_cast<std::size_t>(header.at("state").at("$bytes").integer());
    } catch (const ocp::ArchiveError&) {
    }
    if (file.state >= file.blobs.size()) file.state = 0;
    return file;
}

void append_checksum(std::string& bytes) {
    std::uint32_t checksum = ocp::crc32(bytes);
    ocp::ArchiveWriter end;
    end(checksum);
    bytes += end.bytes();
}

std::string put_together(const File& file) {
    std::string header = file.header, rest;
    for (const std::string& blob : file.blobs) rest += blob;
    try {
        ocp::Json parsed = ocp::Json::parse(header);
        std::vector<ocp::Json> sizes;
        for (const std::string& blob : file.blobs)
            sizes.push_back(ocp::Json::integer(static_cast<std::int64_t>(blob.size())));
        if (parsed.kind() == ocp::Json::Kind::object) parsed.set("blobs", ocp::Json::list(std::move(sizes)));
        header = parsed.text();
    } catch (const ocp::ArchiveError&) {
    }
    std::uint32_t version = 1;
    std::uint64_t header_length = header.size(), length = start_size + header.size() + rest.size() + checksum_size;
    ocp::ArchiveWriter start;
    start(version, length, header_length);
    std::string bytes = std::string(magic) + start.bytes() + header + rest;
    append_checksum(bytes);
    return bytes;
}

std::string mutated(std::string text, std::size_t most) {
    const std::size_t size = text.size();
    text.resize(std::max(size, most));
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
    return text;
}

// Another number or name in the place of one that is there.
void exchange_a_word(std::string& json, Random& random) {
    static const std::vector<std::string> numbers{
        "0",   "1",   "2",    "3",     "4",          "-1",
        "17",  "64",  "1000", "4096",  "1073741824", "9223372036854775807",
        "0.5", "1.0", "-0.0", "1e308", "5e-324",     "340282366920938463463374607431768211455"};
    static const std::vector<std::string> names{"null",
                                                "true",
                                                "false",
                                                "\"all\"",
                                                "\"eluder\"",
                                                "\"first\"",
                                                "\"window\"",
                                                "\"random\"",
                                                "\"least_visited\"",
                                                "\"directed\"",
                                                "\"stationary\"",
                                                "\"episode\"",
                                                "\"period\"",
                                                "\"exact\"",
                                                "\"off\"",
                                                "\"inf\"",
                                                "\"-inf\"",
                                                "\"nan\"",
                                                "\"<i8\"",
                                                "\"<f8\"",
                                                "\"TabulaRasa\"",
                                                "\"StateAggregation\"",
                                                "\"LinearFeatures\"",
                                                "\"Grid\"",
                                                "{\"$float\":\"inf\"}",
                                                "{\"$float\":\"-inf\"}",
                                                "{\"$tuple\":[-1.0,1.0]}",
                                                "[]",
                                                "{}"};
    std::vector<std::pair<std::size_t, std::size_t>> words;  // where they begin and end
    for (std::size_t i = 0; i < json.size();) {
        std::size_t end = i + 1;
        if (json[i] == '"') {
            while (end < json.size() && json[end] != '"') ++end;
            end = std::min(end + 1, json.size());
        } else if (std::string_view("{}[],: ").find(json[i]) == std::string_view::npos) {
            while (end < json.size() && std::string_view("{}[],:\" ").find(json[end]) == std::string_view::npos) ++end;
        } else {
            ++i;
            continue;
        }
        if (end == json.size() || json[end] != ':') words.emplace_back(i, end);  // not a key
        i = end;
    }
    if (words.empty()) return;
    const auto [begin, end] = words[random() % words.size()];
    const bool numeric = json[begin] == '-' || (json[begin] >= '0' && json[begin] <= '9');
    const auto& list = numeric == (random() % 8 != 0) ? numbers : names;
    json.replace(begin, end - begin, list[random() % list.size()]);
}

std::size_t give(const std::string& bytes, std::uint8_t* data, std::size_t max_size) {
    const std::size_t size = std::min(bytes.size(), max_size);
    std::memcpy(data, bytes.data(), size);
    return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    Random random(seed);
    std::optional<File> file = taken_apart({reinterpret_cast<const char*>(data), size});
    if (!file || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
    const std::size_t room = max_size > size ? max_size - size : 0;
    const std::size_t kind = random() % 8;
    if (kind < 2 || file->blobs.empty()) {
        exchange_a_word(file->header, random);
    } else if (kind == 2) {
        file->header = mutated(file->header, file->header.size() + room);
    } else {
        const bool of_state = kind > 3;
        std::string& blob = file->blobs[of_state ? file->state : random() % file->blobs.size()];
        if (of_state) blob.resize(blob.size() > checksum_size ? blob.size() - checksum_size : 0);
        blob = mutated(blob, blob.size() + room);
        if (of_state) append_checksum(blob);
    }
    return give(put_together(*file), data, max_size);
}

// One agent's description, and what another one learned.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t size_of_one,
                                                 const std::uint8_t* other, std::size_t size_of_other,
                                                 std::uint8_t* out, std::size_t max_size, unsigned) {
    std::optional<File> file = taken_apart({reinterpret_cast<const char*>(one), size_of_one});
    const std::optional<File> second = taken_apart({reinterpret_cast<const char*>(other), size_of_other});
    if (!file || !second || file->blobs.empty() || second->blobs.empty()) return 0;
    file->blobs[file->state] = second->blobs[second->state];
    return give(put_together(*file), out, max_size);
}
