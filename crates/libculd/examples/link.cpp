// Links device objects from memory and prints the report: link ARCH INPUT..
#include <culd.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <vector>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    std::unique_ptr<culd_linker, decltype(&culd_linker_free)> linker(culd_linker_new(argv[1]), culd_linker_free);
    if (!linker) return 2;
    culd_linker_set(linker.get(), CULD_VERIFY, true);
    for (int i = 2; i < argc; i++) {
        std::ifstream file(argv[i], std::ios::binary);
        std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        if (culd_linker_add_memory(linker.get(), CULD_INPUT_ANY, argv[i], bytes.data(), bytes.size()) != CULD_OK) return 2;
    }
    std::unique_ptr<culd_result, decltype(&culd_result_free)> result(culd_link(linker.get()), culd_result_free);
    std::cout << culd_result_json(result.get()) << '\n';
    return culd_result_ok(result.get()) ? 0 : 1;
}
