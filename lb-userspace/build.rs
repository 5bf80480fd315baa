//! Builds the XDP program and leaves its object in `OUT_DIR/waggle-xdp`.

#[path = "build/xdp.rs"]
mod xdp;

fn main() -> anyhow::Result<()> {
    xdp::object("lb-ebpf", "waggle-xdp", &["../lb-ebpf", "../lb-common"])
}
