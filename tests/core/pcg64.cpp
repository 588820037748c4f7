// NumPy's generator: its numbers, and its state through a copy. What is expected was printed by NumPy 2.
#include "ocpfast/pcg64.hpp"

#include <cstdint>

#include "check.hpp"

TEST(pcg64_gives_numpys_numbers) {
    struct Case {
        ocp::Pcg64 generator;
        std::uint64_t numbers[4];  // random_raw(4)
    };
    const Case cases[] = {
        {ocp::Pcg64(0u), {11749869230777074271u, 4976686463289251617u, 755828109848996024u, 304881062738325533u}},
        {ocp::Pcg64(1u), {9441442522235856127u, 17532960557476522086u, 2659275481604167885u, 17499493567006797778u}},
        {ocp::Pcg64(12345678901234567890u),
         {77935276331132168u, 12033622772062331548u, 11213416055601313548u, 18157223196524555682u}},
        // SeedSequence(7, spawn_key=(0, simulation, 0 or 1))
        {ocp::Pcg64::of_system(7, 0),
         {11726890362555303268u, 10039333289684295298u, 8605811787717662341u, 6089800863711352404u}},
        {ocp::Pcg64::of_agent(7, 0),
         {15202878192541878196u, 9988735129302423095u, 256155399062761686u, 17304840336802018372u}},
        {ocp::Pcg64::of_system(7, 3),
         {3792206496410867882u, 14274665538407842891u, 1715284167157713978u, 1007230790043248553u}},
        {ocp::Pcg64::of_agent(7, 3),
         {16808658050779260736u, 782115421361553781u, 12546147803851980635u, 6836803890666613747u}},
    };
    for (const Case& one : cases) {
        ocp::Pcg64 generator = one.generator;
        for (const std::uint64_t number : one.numbers) CHECK(generator.next_uint64() == number);
    }
    CHECK(ocp::Pcg64(1).next_double() == 0.5118216247002567);
}

TEST(pcg64_halves_and_copies) {
    ocp::Pcg64 generator(1);
    for (const std::uint32_t half : {2032329983u, 2198257139u, 3243419750u}) CHECK(generator.next_uint32() == half);
    ocp::Pcg64 copy(generator.state());  // with the other half still to come
    const ocp_bitgen bitgen = generator.bitgen(), of_copy = copy.bitgen();
    CHECK(bitgen.next_uint32(bitgen.state) == 4082210491u);
    CHECK(of_copy.next_uint32(of_copy.state) == 4082210491u);
    for (int i = 0; i < 1'000; ++i) {
        CHECK(bitgen.next_raw(bitgen.state) == of_copy.next_uint64(of_copy.state));
        const double number = bitgen.next_double(bitgen.state);
        CHECK(number >= 0 && number < 1 && number == of_copy.next_double(of_copy.state));
    }
}
