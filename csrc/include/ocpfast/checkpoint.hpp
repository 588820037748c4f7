// Agents as files, in the format of ocpfast/saving.py, which says what is where. What is promised:
//
//  - A file that Agent.save wrote in Python is read here. Where C++ makes the agent itself from the same hypothesis
//  class
//    and options, load_agent gives it what was learned, and the generator if it is a PCG64 (the default); it goes on to
//    the last bit. description_json.hpp also makes the agent, for the classes that it knows.
//  - A file that save_agent wrote is read by load_agent here. It does not say what the hypothesis class is, so
//    ocpfast.load_agent in Python must be given it (hypothesis=...), and makes an OCP with default options of it. A
//    Checkpoint that was read from a file keeps its description, and one of description_json.hpp has one: Python reads
//    these as its own.
//  - Files are complete or not there, and have a version and a checksum.
//
// Errors are ArchiveError (what is in the file) and std::system_error (the file itself).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ocpfast/archive.hpp"
#include "ocpfast/files.hpp"
#include "ocpfast/json.hpp"
#include "ocpfast/pcg64.hpp"

namespace ocp {

// ---- the container -----------------------------------------------------------------------------------------------

class Checkpoint {
public:
    // An agent of which only the state is known; `what` it is, for messages.
    explicit Checkpoint(const std::string& what) {
        header_.set("agent", Json::string("OCP"));
        header_.set("arguments", Json::object({}));
        header_.set("given", Json::string(what + " in C++"));
        header_.set("rng", Json());
        const auto off = [](const char* name) { return Json::list({Json::string(name), Json::boolean(false)}); };
        header_.set("memory", Json::object({{"$dict", Json::list({off("stochastic"), off("warned")})}}));
        header_.set("state", Json());
    }

    static Checkpoint parse(std::string_view bytes) {
        if (bytes.substr(0, magic().size()) != magic()) {
            throw ArchiveError("expected a checkpoint that Agent.save wrote, got something else");
        }
        constexpr std::size_t start_size = 8 + 4 + 8 + 8, end_size = 4;
        if (bytes.size() < start_size + end_size) throw ArchiveError("damaged: it ends too early");
        std::uint32_t version = 0, checksum = 0;
        std::uint64_t length = 0, header_length = 0;
        ArchiveReader start(bytes.substr(magic().size()));
        start(version, length, header_length);
        if (version != version_) {
            throw ArchiveError("expected a checkpoint of version " + std::to_string(version_) + ", got version " +
                               std::to_string(version));
        }
        if (length != bytes.size()) {
            throw ArchiveError("damaged: expected " + std::to_string(length) + " bytes, got " +
                               std::to_string(bytes.size()));
        }
        const std::size_t end = bytes.size() - end_size;
        ArchiveReader(bytes.substr(end))(checksum);
        if (checksum != crc32(bytes.substr(0, end))) throw ArchiveError("damaged: its checksum is wrong");
        if (header_length > end - start_size) throw ArchiveError("damaged: a size");
        Checkpoint result;
        result.header_ = Json::parse(bytes.substr(start_size, static_cast<std::size_t>(header_length)));
        std::size_t first = start_size + static_cast<std::size_t>(header_length);
        for (const Json& size : result.header_.at("blobs").items()) {
            const std::int64_t n = size.integer();
            if (n < 0 || static_cast<std::size_t>(n) > end - first) throw ArchiveError("damaged: a size");
            result.blobs_.emplace_back(bytes.substr(first, static_cast<std::size_t>(n)));
            first += static_cast<std::size_t>(n);
        }
        return result;
    }
    static Checkpoint read(const std::string& path) { return parse(read_file(path)); }

    std::string bytes() const {
        Json header = header_;
        std::vector<Json> sizes;
        std::uint64_t length = 8 + 4 + 8 + 8 + 4;
        for (const std::string& blob : blobs_) {
            sizes.push_back(Json::integer(static_cast<std::int64_t>(blob.size())));
            length += blob.size();
        }
        header.set("blobs", Json::list(std::move(sizes)));
        const std::string text = header.text();
        std::uint64_t header_length = text.size();
        length += header_length;
        std::uint32_t version = version_;
        ArchiveWriter start;
        start(version, length, header_length);
        std::string result(magic());
        result += start.bytes() + text;
        for (const std::string& blob : blobs_) result += blob;
        std::uint32_t checksum = crc32(result);
        ArchiveWriter end;
        end(checksum);
        return result + end.bytes();
    }
    void write(const std::string& path) const { write_atomically(path, bytes()); }

    // ---- what is in it -----------------------------------------------------------------------------------------

    const Json& header() const { return header_; }
    Json& header() { return header_; }

    const std::string& blob(const Json& number) const { return blobs_[index(number)]; }
    Json add_blob(std::string content) {
        blobs_.push_back(std::move(content));
        return Json::integer(static_cast<std::int64_t>(blobs_.size()) - 1);
    }

    // What was learned: the bytes of archive.hpp.
    const std::string& state() const { return blob(header_.at("state").at("$bytes")); }
    void set_state(std::string state) {
        const Json& now = header_.at("state");
        if (now.is_null()) {
            header_.set("state", Json::object({{"$bytes", add_blob(std::move(state))}}));
        } else {
            blobs_[index(now.at("$bytes"))] = std::move(state);
        }
    }

    // The agent's random generator. Throws where it is not a PCG64.
    Pcg64 generator() const {
        const auto entry = [](const Json& dictionary, std::string_view key) -> const Json& {
            for (const Json& pair : dictionary.at("$dict").items()) {
                if (pair.at(std::size_t{0}).str() == key) return pair.at(1);
            }
            throw ArchiveError("damaged: the generator has no " + std::string(key));
        };
        const Json& all = header_.at("rng");
        if (const Json& name = entry(all, "bit_generator"); name.str() != "PCG64") {
            throw ArchiveError("expected the generator PCG64, got " + name.shown());
        }
        const Json& words = entry(all, "state");
        Pcg64::State state;
        state.state = entry(words, "state").wide();
        state.increment = entry(words, "inc").wide();
        state.has_uint32 = entry(all, "has_uint32").integer() != 0;
        state.uinteger = static_cast<std::uint32_t>(entry(all, "uinteger").integer());
        return Pcg64(state);
    }
    void set_generator(const Pcg64& generator) {
        const auto dictionary = [](std::vector<std::pair<std::string, Json>> entries) {
            std::vector<Json> pairs;
            for (auto& [key, value] : entries) pairs.push_back(Json::list({Json::string(key), std::move(value)}));
            return Json::object({{"$dict", Json::list(std::move(pairs))}});
        };
        const Pcg64::State& state = generator.state();
        header_.set("rng", dictionary({{"bit_generator", Json::string("PCG64")},
                                       {"state", dictionary({{"state", Json::wide(state.state)},
                                                             {"inc", Json::wide(state.increment)}})},
                                       {"has_uint32", Json::integer(state.has_uint32 ? 1 : 0)},
                                       {"uinteger", Json::integer(state.uinteger)}}));
    }

    // An OCP agent: made from the same description as the one that was saved.
    template <class Agent>
    void restore(Agent& agent) const {
        unseal(agent, Agent::kind(), state());
    }
    template <class Agent>
    void keep(const Agent& agent) {
        set_state(sealed(agent, Agent::kind()));
    }

private:
    Checkpoint() = default;

    std::size_t index(const Json& number) const {
        const std::int64_t i = number.integer();
        if (i < 0 || static_cast<std::size_t>(i) >= blobs_.size()) throw ArchiveError("damaged: an index");
        return static_cast<std::size_t>(i);
    }

    static constexpr std::string_view magic() { return std::string_view("\x89OCPFAST", 8); }
    static constexpr std::uint32_t version_ = 1;

    Json header_ = Json::object({});
    std::vector<std::string> blobs_;
};

// An OCP agent and its generator to a file.
template <class Agent>
void save_agent(const std::string& path, const Agent& agent, const Pcg64& generator) {
    Checkpoint checkpoint(Agent::kind());
    checkpoint.keep(agent);
    checkpoint.set_generator(generator);
    checkpoint.write(path);
}

// And back, into an agent that was made from the same description. Where this throws neither has changed.
template <class Agent>
void load_agent(const std::string& path, Agent& agent, Pcg64& generator) {
    const Checkpoint checkpoint = Checkpoint::read(path);
    const Pcg64 saved = checkpoint.generator();
    Agent loaded = agent;
    checkpoint.restore(loaded);
    agent = std::move(loaded);
    generator = saved;
}

}  // namespace ocp
