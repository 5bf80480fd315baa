//! Builds the bench's XDP programs and leaves their object in `OUT_DIR/bench-xdp`.

fn main() -> anyhow::Result<()> {
    let sources = ["ebpf", "../lb-ebpf", "../lb-common"];
    lb_build::object("lb-tests-ebpf", "bench-xdp", &sources)
}
