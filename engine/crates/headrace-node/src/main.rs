//! The `headrace-node` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = headrace_node::program::main(std::env::args().skip(1).collect());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
