//! Builds the XDP programs of bench and lab and leaves their object in `OUT_DIR/tests-xdp`.

#[path = "../lb-userspace/build/xdp.rs"]
mod xdp;

fn main() -> anyhow::Result<()> {
    let sources = ["ebpf", "../lb-ebpf", "../lb-common"];
    xdp::object("lb-tests-ebpf", "tests-xdp", &sources)
}
