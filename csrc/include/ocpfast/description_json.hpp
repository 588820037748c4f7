// Descriptions in checkpoints, as ocpfast/saving.py writes and reads them: an agent that was trained in Python is made
// from its file alone, and Python reads what is written here as its own.
//
// Known are OCP agents of TabulaRasa, StateAggregation and LinearFeatures of an array. Other files say so in an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ocpfast/archive.hpp"
#include "ocpfast/checkpoint.hpp"
#include "ocpfast/description.hpp"
#include "ocpfast/json.hpp"

namespace ocp {

class DescriptionInFile {
public:
    // Where the file has no hypothesis class, because there is a function in it, the caller's is taken.
    static Description read(const Checkpoint& checkpoint, const Description* hypothesis = nullptr) {
        const Json& header = checkpoint.header();
        if (const Json& agent = header.at("agent"); agent.str() != "OCP") {
            throw ArchiveError("expected an OCP agent, got " + agent.shown());
        }
        const Json& arguments = header.at("arguments");
        Description result;
        if (const Json* in_file = arguments.find("hypothesis")) {
            read_class(checkpoint, *in_file, result);
        } else if (hypothesis == nullptr) {
            throw ArchiveError("expected to be given the hypothesis class, which is not in the file: " +
                               header.at("given").shown());
        } else if (arguments.find("selection") == nullptr) {
            return *hypothesis;  // nothing is described: the state must fit
        } else {
            result = *hypothesis;
        }
        read_options(arguments, result);
        return result;
    }

    static void write(const Description& description, Checkpoint& checkpoint) {
        Json& header = checkpoint.header();
        header.set("arguments", options_of(description));
        if (description.function != nullptr) {
            header.set("given", Json::string("LinearFeatures of a compiled function"));
            return;
        }
        header.set("given", Json());
        Json arguments = header.at("arguments");
        arguments.set("hypothesis", class_of(description, checkpoint));
        header.set("arguments", std::move(arguments));
    }

private:
    // As the enumerators are numbered.
    static constexpr const char* selections[] = {"all", "eluder", "first", "window"};
    static constexpr const char* tie_rules[] = {"first", "random", "least_visited", "directed"};

    template <class Enum, std::size_t n>
    static Enum named(const Json& name, const char* const (&names)[n]) {
        for (std::size_t i = 0; i < n; ++i) {
            if (name.str() == names[i]) return static_cast<Enum>(i);
        }
        throw ArchiveError("damaged: an option");
    }

    // ---- options -------------------------------------------------------------------------------------------------

    static void read_options(const Json& arguments, Description& result) {
        result.selection = named<Selection>(arguments.at("selection"), selections);
        result.window = integer_or_none(arguments.at("window"));
        result.options.ties = named<Ties>(arguments.at("ties"), tie_rules);
        const Json& replay = arguments.at("replay");
        if (replay.kind() == Json::Kind::string) {
            if (replay.str() != "stationary") throw ArchiveError("damaged: an option");
            result.options.replay = ReplayMode::stationary;
        } else {
            result.options.replay = replay.truth() ? ReplayMode::on : ReplayMode::off;
        }
        constexpr const char* updates[] = {"episode", "period"};
        result.options.immediate = named<int>(arguments.at("update"), updates) == 1;
        result.options.discount = arguments.at("discount").real();
        result.bounds.reset();
        if (const Json& bounds = arguments.at("bounds"); !bounds.is_null()) {
            const Json& pair = bounds.at("$tuple");
            result.bounds = {pair.at(std::size_t{0}).real(), pair.at(1).real()};
        }
        result.reward_bound.reset();
        if (const Json& bound = arguments.at("reward_bound"); !bound.is_null()) result.reward_bound = bound.real();
        result.options.replay_sweeps = arguments.at("replay_sweeps").integer();
        result.options.replay_capacity = arguments.at("replay_capacity").integer();
    }

    static Json options_of(const Description& d) {
        const auto number_or_none = [](std::int64_t value) { return value == 0 ? Json() : Json::integer(value); };
        const Json replay = d.options.replay == ReplayMode::stationary
                                ? Json::string("stationary")
                                : Json::boolean(d.options.replay == ReplayMode::on);
        Json bounds;
        if (d.bounds) {
            bounds =
                Json::object({{"$tuple", Json::list({Json::real(d.bounds->first), Json::real(d.bounds->second)})}});
        }
        return Json::object({{"selection", Json::string(selections[static_cast<std::size_t>(d.selection)])},
                             {"window", number_or_none(d.window)},
                             {"ties", Json::string(tie_rules[static_cast<std::size_t>(d.options.ties)])},
                             {"replay", replay},
                             {"update", Json::string(d.options.immediate ? "period" : "episode")},
                             {"discount", Json::real(d.options.discount)},
                             {"bounds", bounds},
                             {"reward_bound", d.reward_bound ? Json::real(*d.reward_bound) : Json()},
                             {"replay_sweeps", Json::integer(d.options.replay_sweeps)},
                             {"replay_capacity", Json::integer(d.options.replay_capacity)}});
    }

    // ---- hypothesis classes ----------------------------------------------------------------------------------------

    static void read_class(const Checkpoint& checkpoint, const Json& value, Description& result) {
        const Json& made = value.at("$class");
        const std::string& name = made.at(std::size_t{0}).str();
        const Json& arguments = made.at(1);
        if (name == "TabulaRasa") {
            result.hypothesis = Description::Hypothesis::tabula_rasa;
            result.n_states = arguments.at(std::size_t{0}).integer();
            read_sizes(arguments, result);
        } else if (name == "StateAggregation") {
            result.hypothesis = Description::Hypothesis::state_aggregation;
            read_sizes(arguments, result);
            read_partition(checkpoint, arguments.at(std::size_t{0}), result);
        } else if (name == "LinearFeatures") {
            result.hypothesis = Description::Hypothesis::linear_features;
            read_features(checkpoint, arguments, result);
        } else {
            throw ArchiveError("expected TabulaRasa, StateAggregation or LinearFeatures, got " +
                               made.at(std::size_t{0}).shown() +
                               ": make it in C++, and let Checkpoint::restore read what was learned");
        }
    }

    static void read_sizes(const Json& arguments, Description& result) {
        result.n_actions = arguments.at(1).integer();
        result.horizon = integer_or_none(arguments.at(2));
        result.track_lower = arguments.at(3).str() == "exact";
    }

    static void read_partition(const Checkpoint& checkpoint, const Json& value, Description& result) {
        if (value.find("$class") == nullptr) {
            const auto shape = read_array(checkpoint, value, "<i8", result.labels);
            if (shape.empty()) throw ArchiveError("damaged: an array");
            result.label_axes = static_cast<int>(shape.size());
            result.n_states = shape[shape.size() == 3 ? 1 : 0];
            return;
        }
        const Json& grid = value.at("$class");
        if (grid.at(std::size_t{0}).str() != "Grid") throw ArchiveError("damaged: expected a Grid");
        for (const Json& one : grid.at(1).at(std::size_t{0}).at("$tuple").items()) {
            read_array(checkpoint, one, "<f8", result.edges.emplace_back());
        }
        result.extra = grid.at(1).at(1).integer();
    }

    static void read_features(const Checkpoint& checkpoint, const Json& arguments, Description& result) {
        const Json& phi = arguments.at(std::size_t{0});
        if (phi.find("$array") == nullptr) {
            throw ArchiveError(
                "expected features as an array, got sparse rows: make the class in C++, and let "
                "Checkpoint::restore read what was learned");
        }
        const auto shape = read_array(checkpoint, phi, "<f8", result.phi);
        if (shape.size() != 3 && shape.size() != 4) throw ArchiveError("damaged: an array");
        result.by_period = shape.size() == 4;
        const std::size_t first = shape.size() - 3;
        result.n_states = shape[first];
        result.n_actions = shape[first + 1];
        result.n_features = shape[first + 2];
        result.horizon = result.by_period ? shape[0] : integer_or_none(arguments.at(1));
        result.shared = arguments.at(2).truth();
    }

    static Json class_of(const Description& d, Checkpoint& checkpoint) {
        const auto made = [](const char* name, std::vector<Json> arguments) {
            return Json::object({{"$class", Json::list({Json::string(name), Json::list(std::move(arguments))})}});
        };
        const Json horizon = d.horizon == 0 ? Json() : Json::integer(d.horizon);
        const Json lower = Json::string(d.track_lower ? "exact" : "off");
        switch (d.hypothesis) {
            case Description::Hypothesis::tabula_rasa:
                return made("TabulaRasa", {Json::integer(d.n_states), Json::integer(d.n_actions), horizon, lower});
            case Description::Hypothesis::linear_features: {
                std::vector<std::int64_t> shape{d.n_states, d.n_actions, d.n_features};
                if (d.by_period) shape.insert(shape.begin(), d.horizon);
                return made("LinearFeatures",
                            {array_of(checkpoint, d.phi, shape, "<f8"), horizon, Json::boolean(d.shared), Json()});
            }
            case Description::Hypothesis::state_aggregation:
                break;
        }
        if (d.edges.empty()) {
            std::vector<std::int64_t> shape{d.n_states};
            if (d.label_axes > 1) shape.push_back(d.n_actions);
            if (d.label_axes > 2) shape.insert(shape.begin(), d.horizon);
            return made("StateAggregation",
                        {array_of(checkpoint, d.labels, shape, "<i8"), Json::integer(d.n_actions), horizon, lower});
        }
        std::vector<Json> edges;
        for (const std::vector<double>& one : d.edges) {
            edges.push_back(array_of(checkpoint, one, {static_cast<std::int64_t>(one.size())}, "<f8"));
        }
        const Json grid =
            made("Grid", {Json::object({{"$tuple", Json::list(std::move(edges))}}), Json::integer(d.extra)});
        return made("StateAggregation", {grid, Json::integer(d.n_actions), horizon, lower});
    }

    // ---- numbers ---------------------------------------------------------------------------------------------------

    static std::int64_t integer_or_none(const Json& value) { return value.is_null() ? 0 : value.integer(); }

    template <class Number>
    static std::vector<std::int64_t> read_array(const Checkpoint& checkpoint, const Json& value, const char* type,
                                                std::vector<Number>& numbers) {
        const Json& parts = value.at("$array");
        if (parts.at(std::size_t{0}).str() != type) throw ArchiveError("damaged: an array");
        const std::string& blob = checkpoint.blob(parts.at(2));
        numbers.resize(blob.size() / sizeof(Number));
        ArchiveReader reader(blob);
        for (Number& number : numbers) reader(number);
        reader.finish();
        std::vector<std::int64_t> shape;
        std::size_t left = numbers.size();
        for (const Json& size : parts.at(1).items()) {
            const auto n = static_cast<std::size_t>(shape.emplace_back(size.integer()));
            if (n != 0 && left % n != 0) throw ArchiveError("damaged: the shape of an array");
            left = n == 0 ? 1 : left / n;
        }
        if (left != 1) throw ArchiveError("damaged: the shape of an array");
        return shape;
    }
    template <class Number>
    static Json array_of(Checkpoint& checkpoint, const std::vector<Number>& numbers,
                         const std::vector<std::int64_t>& shape, const char* type) {
        ArchiveWriter writer;
        for (Number number : numbers) writer(number);
        std::vector<Json> sizes;
        for (const std::int64_t size : shape) sizes.push_back(Json::integer(size));
        return Json::object({{"$array", Json::list({Json::string(type), Json::list(std::move(sizes)),
                                                    checkpoint.add_blob(writer.bytes())})}});
    }
};

// An agent that was made from a description, and its generator; as in checkpoint.hpp, but Python reads it too.
template <class Agent>
void save_agent(const std::string& path, const Agent& agent, const Pcg64& generator, const Description& description) {
    Checkpoint checkpoint(Agent::kind());
    DescriptionInFile::write(description, checkpoint);
    checkpoint.keep(agent);
    checkpoint.set_generator(generator);
    checkpoint.write(path);
}

}  // namespace ocp
