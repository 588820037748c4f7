// Files, their JSON and their bytes: there and back, and what is damaged is refused.
#include "ocpfast/checkpoint.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "ocpfast/description_json.hpp"
#include "ocpfast/system/chain.hpp"
#include "ocpfast/system/contract.hpp"
#include "play.hpp"
#include "random.hpp"

namespace {

using core::Draw;
using ocp::Json;
using Agent = ocp::Ocp<ocp::Cells>;

std::string path(const char* name) {
    return core::settings().folder + "/" + name;
}

ocp::Description described(ocp::ReplayMode replay) {
    ocp::Description d;
    d.n_states = 6;
    d.n_actions = 2;
    d.horizon = 6;
    d.track_lower = true;
    d.reward_bound = 1;
    d.options.ties = ocp::Ties::random;
    d.options.replay = replay;
    return d;
}

Agent trained(const ocp::Description& description, ocp::Pcg64& generator, std::int64_t episodes) {
    ocp::Chain chain(6);
    Agent agent = ocp::Described(description).aggregation_agent();
    core::Streams streams(1);
    streams.of_agent = generator;
    CHECK(core::play(agent, ocp::contract_of(&chain), episodes, streams).done());
    generator = streams.of_agent;
    return agent;
}

// Bytes that somebody made up, with the checksum that goes with them.
std::string sealed(const std::string& bytes) {
    std::uint32_t checksum = ocp::crc32(bytes);
    ocp::ArchiveWriter end;
    end(checksum);
    return bytes + end.bytes();
}

}  // namespace

TEST(checkpoints_there_and_back) {
    for (const ocp::ReplayMode replay : {ocp::ReplayMode::off, ocp::ReplayMode::on, ocp::ReplayMode::stationary}) {
        ocp::Pcg64 generator(3);
        generator.next_uint32();  // half a number is part of its state
        const ocp::Description description = described(replay);
        const Agent agent = trained(description, generator, 10);
        const std::string file = path("agent.ocp");
        ocp::save_agent(file, agent, generator, description);

        const ocp::Checkpoint checkpoint = ocp::Checkpoint::read(file);
        const ocp::Description read = ocp::DescriptionInFile::read(checkpoint);
        Agent loaded = ocp::Described(read).aggregation_agent();
        checkpoint.restore(loaded);
        CHECK(ocp::sealed(loaded, Agent::kind()) == ocp::sealed(agent, Agent::kind()));
        ocp::Pcg64 saved = checkpoint.generator(), same(generator.state());
        CHECK(saved.next_uint32() == same.next_uint32() && saved.next_uint64() == same.next_uint64());
        CHECK(ocp::Checkpoint::parse(checkpoint.bytes()).bytes() == checkpoint.bytes());

        // what is kept later takes the place of what was kept before
        ocp::Checkpoint again(Agent::kind());
        again.keep(trained(description, generator, 3));
        again.keep(agent);
        Agent later = ocp::Described(description).aggregation_agent();
        again.restore(later);
        CHECK(ocp::sealed(later, Agent::kind()) == ocp::sealed(agent, Agent::kind()));

        // without a description, into an agent that is there
        ocp::save_agent(file, agent, generator);
        Agent other = ocp::Described(description).aggregation_agent();
        ocp::Pcg64 into(99);
        ocp::load_agent(file, other, into);
        CHECK(ocp::sealed(other, Agent::kind()) == ocp::sealed(agent, Agent::kind()));
        const ocp::Checkpoint bare = ocp::Checkpoint::read(file);
        CHECK(ocp::DescriptionInFile::read(bare, &description).reward_bound == description.reward_bound);
        CHECK_THROWS(ocp::ArchiveError, "expected to be given the hypothesis class",
                     ocp::DescriptionInFile::read(bare));
        std::remove(file.c_str());
    }
    CHECK_THROWS(std::system_error, "nowhere", ocp::Checkpoint::read(path("nowhere/agent.ocp")));
    CHECK_THROWS(std::system_error, "nowhere", ocp::write_atomically(path("nowhere/agent.ocp"), "content"));
}

// Every byte another one, every length shorter: refused, always by an error of ours.
TEST(checkpoints_that_are_damaged) {
    ocp::Pcg64 generator(3);
    const ocp::Description description = described(ocp::ReplayMode::on);
    const Agent agent = trained(description, generator, 3);
    ocp::Checkpoint checkpoint(Agent::kind());
    checkpoint.keep(agent);
    checkpoint.set_generator(generator);
    ocp::DescriptionInFile::write(description, checkpoint);
    const std::string good = checkpoint.bytes();
    Draw draw(1);
    const int step = core::settings().brief ? 20 : 1;
    for (std::size_t i = 0; i < good.size(); i += static_cast<std::size_t>(step)) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ (1 << draw.below(8)));
        CHECK_THROWS(ocp::ArchiveError, "", ocp::Checkpoint::parse(bad));
        CHECK_THROWS(ocp::ArchiveError, "", ocp::Checkpoint::parse(std::string_view(good).substr(0, i)));
    }
}

// What another program may have written: a generator that is none of ours.
TEST(generators_of_others) {
    ocp::Checkpoint checkpoint(Agent::kind());
    checkpoint.set_generator(ocp::Pcg64(3));
    const std::string good = checkpoint.bytes();
    const auto with = [&](const std::string& word, const std::string& other) {
        CHECK(word.size() == other.size());  // lengths in the file stay right
        std::string bytes = good.substr(0, good.size() - 4);
        bytes.replace(bytes.find(word), word.size(), other);
        return ocp::Checkpoint::parse(sealed(bytes));
    };
    CHECK(with("PCG64", "PCG64").generator().next_uint64() == ocp::Pcg64(3).next_uint64());
    CHECK_THROWS(ocp::ArchiveError, "expected the generator PCG64, got SFC64", with("PCG64", "SFC64").generator());
    CHECK_THROWS(ocp::ArchiveError, "damaged: the generator has no inc", with("\"inc\"", "\"out\"").generator());
}

// The same behind the checksum: bytes that somebody made up may load or not, but touch nothing that is not theirs. What
// loads can be played with.
TEST(states_that_are_made_up) {
    Draw draw(2);
    int n_loaded = 0, n_refused = 0;
    for (int i = 0; i < core::cases(4'000); ++i) {
        ocp::Pcg64 generator(3);
        ocp::Description description = described(ocp::ReplayMode::off);
        description.options.replay = draw.chance(0.5) ? ocp::ReplayMode::on : ocp::ReplayMode::off;
        description.options.ties = draw.chance(0.5) ? ocp::Ties::directed : ocp::Ties::least_visited;
        if (draw.chance(0.3)) {
            description.options.replay = ocp::ReplayMode::off;
            description.selection = ocp::Selection::window;
            description.window = 2;
        }
        const Agent agent = trained(description, generator, 3);
        std::string bytes = ocp::sealed(agent, Agent::kind());
        bytes.resize(bytes.size() - 4);
        for (std::int64_t n = draw.between(1, 3); n > 0; --n) {
            char& byte = bytes[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(bytes.size())))];
            byte =
                draw.chance(0.5) ? static_cast<char>(draw.below(256)) : static_cast<char>(byte ^ (1 << draw.below(8)));
        }
        Agent loaded = ocp::Described(description).aggregation_agent();
        try {
            ocp::unseal(loaded, Agent::kind(), sealed(bytes));
        } catch (const ocp::ArchiveError&) {
            ++n_refused;
            continue;
        }
        ++n_loaded;
        ocp::Chain chain(6);
        core::Streams streams(1);
        loaded.begin_episode();
        core::play(loaded, ocp::contract_of(&chain), 3, streams);
    }
    CHECK(n_loaded > 0 && n_refused > 0);
}

TEST(json_there_and_back) {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double number : {0.0, -0.0, 1.0, 0.1, -1e300, 5e-324, 1e16, infinity, -infinity}) {
        CHECK(Json::parse(Json::real(number).text()).real() == number);
    }
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-7}, INT64_MAX, -INT64_MAX}) {
        CHECK(Json::parse(Json::integer(number).text()).integer() == number);
    }
    const ocp::Wide wide{UINT64_MAX, UINT64_MAX};
    CHECK(Json::wide(wide).text() == "340282366920938463463374607431768211455");
    CHECK(Json::parse(Json::wide(wide).text()).wide() == wide);
    const std::string text = "a \"quote\", a \\ and \n\t\x01 \xc3\xa9";
    CHECK(Json::parse(Json::string(text).text()).str() == text);
    CHECK(Json::parse("\"\\u00e9\\ud83d\\ude00\\u0041\"").str() ==
          "\xc3\xa9\xf0\x9f\x98\x80"
          "A");
    const Json tree = Json::parse(" { \"a\" : [ 1 , true , null , { } , [ ] ] , \"b\" : -1.5e-3 } ");
    CHECK(tree.text() == "{\"a\":[1,true,null,{},[]],\"b\":-1.5e-3}");
    CHECK(tree.at("a").at(1).truth() && tree.at("b").real() == -1.5e-3 && tree.find("c") == nullptr);
    CHECK_THROWS(ocp::ArchiveError, "there is no \"c\"", tree.at("c"));
    CHECK_THROWS(ocp::ArchiveError, "a list is too short", tree.at("a").at(5));
    CHECK_THROWS(ocp::ArchiveError, "expected a string, got a number", tree.at("b").str());
}

TEST(json_that_is_none) {
    const char* const bad[] = {"",         " ",       "{",         "[1,",    "[1 2]",       "{\"a\"}",
                               "{\"a\":}", "tru",     "01",        "1.",     "-",           "1e",
                               "\"",       "\"\\x\"", "\"\\u12\"", "\"\n\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
                               "nul",      "[]]",     "{a:1}",     "+1",     "'a'"};
    for (const char* text : bad) CHECK_THROWS(ocp::ArchiveError, "damaged", Json::parse(text));
    CHECK_THROWS(ocp::ArchiveError, "damaged", Json::parse(std::string(200, '[')));
    CHECK_THROWS(ocp::ArchiveError, "damaged", Json::parse("340282366920938463463374607431768211456").wide());
    CHECK_THROWS(ocp::ArchiveError, "damaged", Json::parse("9223372036854775808").integer());
    CHECK_THROWS(ocp::ArchiveError, "damaged", Json::parse("1.5").integer());
    CHECK_THROWS(ocp::ArchiveError, "damaged", Json::parse("1e999").real());
    CHECK(Json::parse(R"({"$float": "-inf"})").real() == -std::numeric_limits<double>::infinity());
    CHECK_THROWS(ocp::ArchiveError, "damaged: a number", Json::parse(R"({"$float": "nan"})").real());

    // changed at random: refused, or a tree that can be written
    Draw draw(3);
    const std::string good = "{\"a\":[1,-2.5e3,true,null,{\"b\\u00e9\":\"\\n\"}],\"c\":\"d\"}";
    for (int i = 0; i < core::cases(5'000); ++i) {
        std::string text = good;
        for (std::int64_t n = draw.between(1, 4); n > 0; --n) {
            const auto at = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(text.size())));
            if (draw.chance(0.3)) {
                text.erase(at, 1);
            } else {
                text[at] = draw.chance(0.5) ? "\"\\{}[],:0-.eu"[draw.below(14)] : static_cast<char>(draw.below(256));
            }
            if (text.empty()) break;
        }
        try {
            const Json tree = Json::parse(text);
            CHECK(Json::parse(tree.text()).text() == tree.text());
        } catch (const ocp::ArchiveError&) {
            CHECK(true);
        }
    }
}

TEST(descriptions_that_are_wrong) {
    const auto wrong = [](const auto& change) {
        ocp::Description d = described(ocp::ReplayMode::off);
        change(d);
        return ocp::Described(d);
    };
    using D = ocp::Description;
    CHECK_THROWS(std::invalid_argument, "n_actions: expected an integer >= 1, got 0",
                 wrong([](D& d) { d.n_actions = 0; }));
    CHECK_THROWS(std::invalid_argument, "discount: expected", wrong([](D& d) { d.options.discount = 0; }));
    CHECK_THROWS(std::invalid_argument, "window: expected", wrong([](D& d) { d.window = 2; }));
    CHECK_THROWS(std::invalid_argument, "parameters", wrong([](D& d) { d.n_states = INT64_MAX; }));
    CHECK_THROWS(std::invalid_argument, "bounds: expected", wrong([](D& d) {
                     d.reward_bound.reset();
                     d.bounds = {1, 0};
                 }));
    CHECK_THROWS(std::invalid_argument, "labels: expected", wrong([](D& d) {
                     d.hypothesis = D::Hypothesis::state_aggregation;
                     d.labels = {0, 1, 2, 0, 1, 6};
                 }));
    CHECK_THROWS(std::invalid_argument, " of them, got 2", wrong([](D& d) {
                     d.hypothesis = D::Hypothesis::state_aggregation;
                     d.labels = {0, 1};
                 }));
    CHECK_THROWS(std::invalid_argument, "edges[0]: expected", wrong([](D& d) {
                     d.hypothesis = D::Hypothesis::state_aggregation;
                     d.edges = {{1, 1}};
                 }));
    CHECK_THROWS(std::invalid_argument, "phi: expected", wrong([](D& d) {
                     d.hypothesis = D::Hypothesis::linear_features;
                     d.n_features = 2;
                     d.phi = {1};
                 }));
}
