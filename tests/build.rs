//! Builds the bench's XDP programs and leaves their object in `OUT_DIR/bench-xdp`.

#[path = "../lb-userspace/build/xdp.rs"]
mod xdp;

fn main() -> anyhow::Result<()> {
    let sources = ["ebpf", "../lb-ebpf", "../lb-common"];
    xdp::object("lb-tests-ebpf", "bench-xdp", &sources)
}
