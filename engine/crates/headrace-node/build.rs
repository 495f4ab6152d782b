//! Compiles the control protocol.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const FILE: &str = "headrace/control/v1/control.proto";
    println!("cargo::rerun-if-changed=../../proto");
    let files = protox::compile([FILE], ["../../proto"])?;
    tonic_prost_build::configure()
        .bytes(".headrace.control.v1.Chunk")
        .bytes(".headrace.control.v1.FinishPart")
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
