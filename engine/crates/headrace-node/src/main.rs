//! The `headrace-node` program.

fn main() {
    std::process::exit(headrace_node::program::main(
        None,
        std::env::args_os().skip(1),
    ));
}
